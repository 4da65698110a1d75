// Holds a SARIF log on stdin against the schema of SARIF 2.1.0; fields that the schema does not know are faults too.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
)

func main() {
	decoder := json.NewDecoder(os.Stdin)
	decoder.DisallowUnknownFields()
	var log sarif.Report
	err := decoder.Decode(&log)
	var faults []string
	if err != nil {
		faults = []string{err.Error()}
	} else if err := log.Validate(); err != nil {
		// What the log leaves out is null or empty when the library writes it again, which the schema does not take.
		for _, fault := range strings.Split(strings.Trim(err.Error(), "]"), "\n") {
			absent := strings.HasSuffix(fault, "given: null") || strings.Contains(fault, "language: Does not match")
			if !absent && strings.TrimSpace(fault) != "" {
				faults = append(faults, fault)
			}
		}
	}
	for _, fault := range faults {
		fmt.Println(fault)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
}
