// Reads paths and applies patches as the cluster registry's controller v0.2.12 does: paths of `content` with gjson, overrides
// with go-patch, between the YAML libraries that it has there.
//
// Each line of the input is a case in JSON, and each line of the output what came of it. {"path": …, "object": …} gives
// {"text": …, "number": …} as gjson has it, or {} where nothing is found. {"type": "replace" or "remove", "path": …, "value": …,
// "object": …} gives {"object": …}, or {} where the patch fails.
package main

import (
	"bufio"
	"encoding/json"
	"os"

	"github.com/cppforlife/go-patch/patch"
	"github.com/tidwall/gjson"
	yaml "gopkg.in/yaml.v2"
	kubernetes "sigs.k8s.io/yaml"
)

func main() {
	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	encoder := json.NewEncoder(output)
	encoder.SetEscapeHTML(false)
	for {
		line, err := input.ReadBytes('\n')
		if err != nil {
			return
		}
		var given struct {
			Type   string
			Path   string
			Value  json.RawMessage
			Object json.RawMessage
		}
		if err := json.Unmarshal(line, &given); err != nil {
			panic(err)
		}
		answer := map[string]any{}
		if given.Type == "" {
			if found := gjson.GetBytes(given.Object, given.Path); found.Exists() {
				answer["text"], answer["number"] = found.String(), found.Int()
			}
		} else if object, err := patched(given.Type, given.Path, given.Value, given.Object); err == nil {
			answer["object"] = json.RawMessage(object)
		}
		if err := encoder.Encode(answer); err != nil {
			panic(err)
		}
	}
}

func patched(how, path string, text, object []byte) ([]byte, error) {
	document, err := kubernetes.JSONToYAML(object)
	if err != nil {
		return nil, err
	}
	operation := patch.OpDefinition{Type: how, Path: &path}
	if how == "replace" {
		var value any
		if err := yaml.Unmarshal(text, &value); err != nil {
			return nil, err
		}
		operation.Value = &value
	}
	operations, err := patch.NewOpsFromDefinitions([]patch.OpDefinition{operation})
	if err != nil {
		return nil, err
	}
	var before any
	if err := yaml.Unmarshal(document, &before); err != nil {
		return nil, err
	}
	after, err := operations.Apply(before)
	if err != nil {
		return nil, err
	}
	written, err := yaml.Marshal(after)
	if err != nil {
		return nil, err
	}
	return kubernetes.YAMLToJSON(written)
}
