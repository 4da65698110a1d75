// Chooses how clusters are reached, as consumers of cluster-inventory-api do: a JSON array of provider files and
// ClusterProfiles on stdin, an array of what the library makes of each on stdout.
package main

import (
	"encoding/json"
	"net/http"
	"os"

	"sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	"sigs.k8s.io/cluster-inventory-api/pkg/access"
)

type question struct {
	// The text of a provider file.
	File string `json:"file"`
	// A ClusterProfile.
	Profile json.RawMessage `json:"profile"`
}

type answer struct {
	Error   string            `json:"error,omitempty"`
	Server  string            `json:"server"`
	CA      []byte            `json:"ca"`
	Proxy   string            `json:"proxy"`
	Version string            `json:"apiVersion"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Info    bool              `json:"provideClusterInfo"`
	Config  any               `json:"config"`
}

func answered(asked question) answer {
	file, err := os.CreateTemp("", "providers")
	if err != nil {
		panic(err)
	}
	defer os.Remove(file.Name())
	if _, err := file.WriteString(asked.File); err != nil {
		panic(err)
	}
	file.Close()
	config, err := access.NewFromFile(file.Name())
	if err != nil {
		return answer{Error: err.Error()}
	}
	var profile v1alpha1.ClusterProfile
	if err := json.Unmarshal(asked.Profile, &profile); err != nil {
		return answer{Error: err.Error()}
	}
	made, err := config.BuildConfigFromCP(&profile)
	if err != nil {
		return answer{Error: err.Error()}
	}
	exec := made.ExecProvider
	env := map[string]string{}
	for _, variable := range exec.Env {
		env[variable.Name] = variable.Value
	}
	proxy := ""
	if url, err := made.Proxy(&http.Request{}); err != nil {
		return answer{Error: err.Error()}
	} else if url != nil {
		proxy = url.String()
	}
	var said any
	if exec.Config != nil {
		written, err := json.Marshal(exec.Config)
		if err != nil {
			panic(err)
		}
		if err := json.Unmarshal(written, &said); err != nil {
			panic(err)
		}
	}
	return answer{
		Server: made.Host, CA: made.TLSClientConfig.CAData, Proxy: proxy, Version: exec.APIVersion,
		Command: exec.Command, Args: exec.Args, Env: env, Info: exec.ProvideClusterInfo, Config: said,
	}
}

func main() {
	var asked []question
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		panic(err)
	}
	answers := make([]answer, 0, len(asked))
	for _, question := range asked {
		answers = append(answers, answered(question))
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		panic(err)
	}
}
