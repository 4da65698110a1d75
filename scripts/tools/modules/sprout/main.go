// Renders templates as KubeNSync's operator does: Go's text/template with the functions of go-sprout's group `all`.
//
// Each line of the input is a case in JSON, {"template": …, "data": …}, and each line of the output what came of it:
// {"ok": …} or {"error": true}. Data is typed as Kubernetes' own: whole numbers are int64, and a map that has the key
// "\u0000texts" is a map[string]string without it. Text that is no UTF-8 is refused, as JSON cannot carry it.
//
// With the argument `names` it prints the names of those functions instead.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"text/template"
	"unicode/utf8"

	"github.com/go-sprout/sprout"
	"github.com/go-sprout/sprout/group/all"
)

func main() {
	handler := sprout.New(sprout.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	if err := handler.AddGroups(all.RegistryGroup()); err != nil {
		panic(err)
	}
	functions := handler.Build()
	if len(os.Args) > 1 && os.Args[1] == "names" {
		for _, name := range slices.Sorted(maps.Keys(functions)) {
			fmt.Println(name)
		}
		return
	}
	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	for {
		line, err := input.ReadBytes('\n')
		if err != nil {
			return
		}
		text, ok := render(functions, line)
		answer := map[string]any{"error": true}
		if ok && utf8.ValidString(text) {
			answer = map[string]any{"ok": text}
		}
		encoder := json.NewEncoder(output)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(answer); err != nil {
			panic(err)
		}
	}
}

func render(functions template.FuncMap, line []byte) (string, bool) {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	var given struct {
		Template string
		Data     any
	}
	if err := decoder.Decode(&given); err != nil {
		panic(err)
	}
	parsed, err := template.New("").Funcs(functions).Parse(given.Template)
	if err != nil {
		return "", false
	}
	var out strings.Builder
	if err := parsed.Execute(&out, typed(given.Data)); err != nil {
		return "", false
	}
	return out.String(), true
}

func typed(value any) any {
	switch value := value.(type) {
	case json.Number:
		if whole, err := value.Int64(); err == nil {
			return whole
		}
		float, err := value.Float64()
		if err != nil {
			panic(err)
		}
		return float
	case []any:
		for at, item := range value {
			value[at] = typed(item)
		}
		return value
	case map[string]any:
		if _, texts := value["\x00texts"]; texts {
			delete(value, "\x00texts")
			made := map[string]string{}
			for key, item := range value {
				made[key] = item.(string)
			}
			return made
		}
		for key, item := range value {
			value[key] = typed(item)
		}
		return value
	default:
		return value
	}
}
