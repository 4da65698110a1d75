// Reads YAML documents as kubectl does: a JSON array of texts on stdin, an array of what each says on stdout.
package main

import (
	"encoding/json"
	"os"

	"sigs.k8s.io/yaml"
)

func main() {
	var documents []string
	if err := json.NewDecoder(os.Stdin).Decode(&documents); err != nil {
		panic(err)
	}
	answers := make([]map[string]json.RawMessage, 0, len(documents))
	for _, document := range documents {
		answer := map[string]json.RawMessage{}
		if read, err := yaml.YAMLToJSON([]byte(document)); err == nil {
			answer["read"] = read
		}
		answers = append(answers, answer)
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		panic(err)
	}
}
