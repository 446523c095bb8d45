package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/listfacade/listfacade/internal/facade"
)

// schemaTypes are the types in the chart's schema for the types of flags, as scalar accepts them.
var schemaTypes = map[string]any{
	"bool": "boolean", "int": "integer", "int64": "integer", "float64": "number", "stringSlice": "names",
	"duration": "duration", "on|off": []any{"boolean", "string"}, "auto|quantity": []any{"integer", "string"}, "quantity": []any{"integer", "string"},
}

// TestChartKnowsEveryFlag: the schema of the chart's values has a key for each flag, with its type, and no others. So
// helm refuses a setting that would prevent the start of the new pods.
func TestChartKnowsEveryFlag(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "chart", "listfacade", "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties struct {
			Config struct {
				AdditionalProperties *bool          `json:"additionalProperties"`
				Properties           map[string]any `json:"properties"`
			} `json:"config"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	got := schema.Properties.Config
	if got.AdditionalProperties == nil || *got.AdditionalProperties {
		t.Error("got a schema that allows unknown settings, want them refused")
	}
	config := facade.Defaults()
	want := map[string]any{"resources": map[string]any{"$ref": "#/$defs/objects"}}
	for _, group := range flagsOf(&config) {
		group.flags.VisitAll(func(f *pflag.Flag) {
			kind, ok := schemaTypes[f.Value.Type()]
			if !ok {
				kind = "string"
			}
			setting := map[string]any{"type": kind}
			if kind == "names" || kind == "duration" {
				setting = map[string]any{"$ref": "#/$defs/" + kind.(string)}
			}
			want[camelCase(f.Name)] = setting
		})
	}
	if diff := cmp.Diff(want, got.Properties); diff != "" {
		t.Errorf("settings of the schema (-flags +schema):\n%s", diff)
		complete, _ := json.Marshal(want)
		t.Logf("want %s", complete)
	}
}
