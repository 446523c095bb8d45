package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/listfacade/listfacade/internal/facade"
)

// configType is the apiVersion and kind that a configuration file must have.
var configType = metav1.TypeMeta{APIVersion: "config.listfacade/v1alpha1", Kind: "ListFacadeConfiguration"}

// resourceConfig is the part of a configuration file about one resource.
type resourceConfig struct {
	Resource      string             `json:"resource"`
	Cached        *bool              `json:"cached"`
	Preload       []string           `json:"preload"`
	Index         []string           `json:"index"`
	LabelIndex    []string           `json:"labelIndex"`
	HistoryWindow metav1.Duration    `json:"historyWindow"`
	HistoryBytes  *resource.Quantity `json:"historyBytes"`
	MemoryBudget  *resource.Quantity `json:"memoryBudget"`
}

// readConfig reads a configuration file, or the files of a directory, into c and the flags of groups. A file may have a
// key in camel case for each flag, and the key resources with settings of single resources. Later files take precedence
// over earlier files, and command-line flags over all files. Unknown keys, and keys that occur twice in one file, are
// errors.
func readConfig(path string, groups []flagGroup, c *facade.Config) error {
	files, err := configFiles(path)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("--config: %w", err)
		}
		if err := applyConfig(text, groups, c); err != nil {
			return fmt.Errorf("--config %s: %w", file, err)
		}
	}
	return nil
}

// configFiles returns the path if it is a file. For a directory, it returns the files whose names end in .yaml, in the
// order of their names. It skips names that begin with a dot, because the volume of a ConfigMap has directories with
// such names.
func configFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path) // sorted
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		if name := entry.Name(); filepath.Ext(name) == ".yaml" && !strings.HasPrefix(name, ".") {
			files = append(files, filepath.Join(path, name))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("directory %s contains no file that ends in .yaml", path)
	}
	return files, nil
}

// applyConfig sets the flags and the fields of c from the content of one file.
func applyConfig(text []byte, groups []flagGroup, c *facade.Config) error {
	object, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return err
	}
	keys := map[string]json.RawMessage{}
	if err := json.Unmarshal(object, &keys); err != nil {
		return errors.New("content must be a YAML mapping of keys to values")
	}
	var typeMeta metav1.TypeMeta
	if err := json.Unmarshal(object, &typeMeta); err != nil || typeMeta != configType {
		return fmt.Errorf("got apiVersion %q and kind %q, want %s and %s", typeMeta.APIVersion, typeMeta.Kind,
			configType.APIVersion, configType.Kind)
	}
	if err := applyResources(keys["resources"], c); err != nil {
		return err
	}
	for _, key := range []string{"apiVersion", "kind", "resources"} {
		delete(keys, key)
	}
	return setFlags(keys, groups)
}

// setFlags sets the flags that keys name, except those that the command line set. It visits the keys in sorted order,
// so that the first error is always the same.
func setFlags(keys map[string]json.RawMessage, groups []flagGroup) error {
	flags := map[string]*pflag.Flag{}
	for _, group := range groups {
		group.flags.VisitAll(func(f *pflag.Flag) { flags[camelCase(f.Name)] = f })
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		f := flags[key]
		if f == nil {
			return fmt.Errorf("%s: unknown key; keys are the names of flags in camel case, for example %s", key,
				camelCase("secure-port"))
		}
		if f.Changed {
			continue // set by the command line
		}
		if err := setFlag(f, keys[key]); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// camelCase returns the key for a flag's name: securePort for secure-port.
func camelCase(name string) string {
	words := strings.Split(name, "-")
	for i, word := range words[1:] {
		words[i+1] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, "")
}

func setFlag(f *pflag.Flag, raw json.RawMessage) error {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		var texts []string
		if err := json.Unmarshal(raw, &texts); err != nil || texts == nil {
			return errors.New("value must be a list of strings")
		}
		return list.Replace(texts)
	}
	text, err := scalar(f.Value.Type(), raw)
	if err != nil {
		return err
	}
	return f.Value.Set(text)
}

// scalar converts a value in JSON to the text that would set the flag on the command line. kind is the result of
// pflag.Value.Type.
func scalar(kind string, raw json.RawMessage) (string, error) {
	var text string
	isText := json.Unmarshal(raw, &text) == nil && raw[0] == '"'
	isBool, isNumber := raw[0] == 't' || raw[0] == 'f', raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
	switch kind {
	case "bool":
		if isBool {
			return string(raw), nil
		}
		return "", errors.New("value must be true or false")
	case "int", "int64", "float64":
		if isNumber {
			return string(raw), nil
		}
		return "", errors.New("value must be a number")
	case "duration":
		if string(raw) == "0" { // as on the command line; other durations need a unit
			return "0", nil
		}
	case "on|off":
		if isBool { // YAML parses on and off as booleans
			return map[bool]string{true: "on", false: "off"}[raw[0] == 't'], nil
		}
	case "auto|quantity", "quantity":
		if isNumber {
			return string(raw), nil
		}
	}
	if !isText {
		return "", errors.New("value must be a string")
	}
	return text, nil
}

// applyResources applies the settings of single resources. An entry replaces the entry of an earlier file for the same
// resource.
func applyResources(raw json.RawMessage, c *facade.Config) error {
	if raw == nil {
		return nil
	}
	var all []resourceConfig
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&all); err != nil {
		return fmt.Errorf("resources: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	resources := map[schema.GroupResource]facade.Resource{}
	for i, r := range all {
		name := schema.ParseGroupResource(r.Resource)
		if _, twice := resources[name]; twice || r.Resource == "" {
			return fmt.Errorf("resources[%d]: resource must be set and unique, for example deployments.apps", i)
		}
		own := facade.Resource{
			Preload: r.Preload, Cached: r.Cached, FieldIndexes: r.Index, LabelIndexes: r.LabelIndex,
			HistoryWindow: r.HistoryWindow.Duration,
		}
		if r.HistoryBytes != nil {
			own.HistoryBytes = r.HistoryBytes.Value()
		}
		if r.MemoryBudget != nil {
			own.MemoryBudget = r.MemoryBudget.Value()
		}
		resources[name] = own
	}
	if c.Resources == nil {
		c.Resources = resources
	}
	maps.Copy(c.Resources, resources)
	return nil
}
