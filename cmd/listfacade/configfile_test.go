package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/facade"
)

const head = "apiVersion: config.listfacade/v1alpha1\nkind: ListFacadeConfiguration\n"

// configured returns the defaults as changed by a configuration file with the text and by a command line.
func configured(t *testing.T, text string, args ...string) (facade.Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return configuredBy(t, path, args...)
}

// configuredBy is configured for an existing file or directory.
func configuredBy(t *testing.T, path string, args ...string) (facade.Config, error) {
	t.Helper()
	c := facade.Defaults()
	groups := flagsOf(&c)
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, group := range groups {
		all.AddFlagSet(group.flags)
	}
	if err := all.Parse(args); err != nil {
		t.Fatal(err)
	}
	err := readConfig(path, groups, &c)
	return c, err
}

// TestConfigFile: a file sets flags by their names, and the command line takes precedence over it.
func TestConfigFile(t *testing.T) {
	want := facade.Defaults()
	want.Kubeconfig, want.Port, want.GoawayChance = "a.conf", 7443, 0.01
	want.Preload, want.ShutdownDelay, want.SendRetryAfter = []string{"pods", "nodes"}, 5*time.Second, true
	want.MemoryBudget, want.Packing, want.LaneIdle = 2<<30, facade.Packing{}, 0
	want.Resources = map[schema.GroupResource]facade.Resource{
		{Resource: "pods"}: {
			Preload: []string{"json", "protobuf"}, LabelIndexes: []string{"app"}, FieldIndexes: []string{"status.phase"},
			HistoryWindow: time.Hour, HistoryBytes: 1 << 30, MemoryBudget: 4 << 30,
		},
		{Group: "example.com", Resource: "secretthings"}: {Cached: new(bool)},
	}
	got, err := configured(t, head+`
kubeconfig: a.conf
securePort: 6444
goawayChance: 0.01
preload: [pods, nodes]
shutdownDelayDuration: 5s
shutdownSendRetryAfter: true
memoryBudget: 2Gi
pack: off
idleTimeout: 0
resources:
- resource: pods
  preload: [json, protobuf]
  index: [status.phase]
  labelIndex: [app]
  historyWindow: 1h
  historyBytes: 1Gi
  memoryBudget: 4Gi
- resource: secretthings.example.com
  cached: false
`, "--secure-port=7443")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
}

// TestEveryFlagIsAKey: a configuration file can set every flag, whatever its type.
func TestEveryFlagIsAKey(t *testing.T) {
	c := facade.Defaults()
	for _, group := range flagsOf(&c) {
		group.flags.VisitAll(func(f *pflag.Flag) {
			value := otherThan(f)
			switch f.Value.Type() {
			case "stringSlice":
				value = "[" + value + "]"
			case "string", "ip", "duration":
				value = `"` + value + `"`
			}
			got, err := configured(t, head+camelCase(f.Name)+": "+value+"\n")
			if err != nil {
				t.Errorf("--%s: %v", f.Name, err)
			} else if cmp.Equal(facade.Defaults(), got) {
				t.Errorf("%s changes nothing", camelCase(f.Name))
			}
		})
	}
}

// TestConfigDirectory: later files replace single keys and single resources of earlier ones, and the command line takes
// precedence over all of them. Files that do not end in .yaml are ignored, as are the dot directories in the volume of
// a ConfigMap.
func TestConfigDirectory(t *testing.T) {
	dir := t.TempDir()
	version := filepath.Join(dir, "..2026_01_01.yaml")
	if err := os.Mkdir(version, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"10-base.yaml": "securePort: 1\nlogFormat: json\npreload: [pods, nodes]\ngoawayChance: 0.01\n" +
			"resources: [{resource: pods, cached: false}, {resource: nodes, cached: false}]\n",
		"9.yaml":    "securePort: 2\npreload: [events]\nresources: [{resource: pods, preload: [json]}]\n",
		"README":    "not: a setting",
		"..no.yaml": "not: a setting",
	} {
		if strings.HasSuffix(name, ".yaml") {
			text = head + text
		}
		if err := os.WriteFile(filepath.Join(version, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(version, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	want := facade.Defaults()
	want.Port, want.LogFormat, want.Preload, want.GoawayChance = 2, "json", []string{"events"}, 0.02
	want.Resources = map[schema.GroupResource]facade.Resource{
		{Resource: "pods"}: {Preload: []string{"json"}}, {Resource: "nodes"}: {Cached: new(bool)},
	}
	got, err := configuredBy(t, dir, "--goaway-chance=0.02")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

// TestConfigDirectoryErrorsNameTheFile: an invalid file is an error even if a later file replaces the value.
func TestConfigDirectoryErrorsNameTheFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := configuredBy(t, dir); err == nil || !strings.Contains(err.Error(), "contains no file that ends in .yaml") {
		t.Errorf("an empty directory: %v", err)
	}
	for name, text := range map[string]string{"1.yaml": "securePort: a\n", "2.yaml": "securePort: 1\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(head+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := configuredBy(t, dir); err == nil || !strings.Contains(err.Error(), "1.yaml: securePort: value must be a number") {
		t.Errorf("a value that a later file replaces: %v", err)
	}
	if _, err := configuredBy(t, filepath.Join(dir, "none")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a path that does not exist: %v", err)
	}
}

// TestConfigFileErrorsNameFileAndKey: an invalid file is an error that names the file and the key.
func TestConfigFileErrorsNameFileAndKey(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"empty file":                  {"", `got apiVersion "" and kind "", want config.listfacade/v1alpha1`},
		"list instead of object":      {"- a", "content must be a YAML mapping"},
		"another kind":                {"apiVersion: v1\nkind: Config\n", `got apiVersion "v1" and kind "Config", want`},
		"invalid YAML":                {head + "a: [", "yaml"},
		"unknown key":                 {head + "sekurePort: 1\n", "sekurePort: unknown key"},
		"key in lower case":           {head + "secureport: 1\n", "secureport: unknown key"},
		"key twice":                   {head + "pack: on\npack: off\n", `key "pack" already set`},
		"number for a string":         {head + "context: 5\n", "context: value must be a string"},
		"string for a number":         {head + "securePort: \"5\"\n", "securePort: value must be a number"},
		"string for a boolean":        {head + "profiling: \"yes\"\n", "profiling: value must be true or false"},
		"string for a list":           {head + "preload: pods\n", "preload: value must be a list of strings"},
		"null for a list":             {head + "preload:\n", "preload: value must be a list of strings"},
		"list of numbers":             {head + "preload: [1]\n", "preload: value must be a list of strings"},
		"number for a duration":       {head + "requestTimeout: 5\n", "requestTimeout: value must be a string"},
		"duration without unit":       {head + "requestTimeout: \"5\"\n", "requestTimeout: time: missing unit"},
		"null for a string":           {head + "context:\n", "context: value must be a string"},
		"resource without name":       {head + "resources: [{cached: false}]\n", "resources[0]: resource must be set and unique"},
		"resource twice":              {head + "resources: [{resource: a}, {resource: a}]\n", "resources[1]: resource must be set and unique"},
		"unknown setting":             {head + "resources: [{resource: a, cache: false}]\n", `resources: unknown field "cache"`},
		"object instead of resources": {head + "resources: {resource: a}\n", "resources:"},
		"invalid quantity":            {head + "resources: [{resource: a, memoryBudget: much}]\n", "resources:"},
	} {
		_, err := configured(t, test.text)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "config.yaml") {
			t.Errorf("%s: got %v, want %q and the file's name in it", name, err, test.want)
		}
	}
}

// FuzzConfigFile: every content is accepted or rejected with an error; none causes a panic.
func FuzzConfigFile(f *testing.F) {
	f.Add([]byte(head + "pack: off\nresources: [{resource: pods, cached: false, memoryBudget: 1Gi}]\n"))
	f.Add([]byte(head + "preload: [a]\nsecurePort: 0x10\nlogLevel: !!binary aGk=\n"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		c := facade.Defaults()
		_ = applyConfig(text, flagsOf(&c), &c)
	})
}
