package main

import (
	"bytes"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/listfacade/listfacade/internal/facade"
)

var listedFlag = regexp.MustCompile(`(?m)^ {6}--([a-z-]+)`)

// TestHelpListsEveryFlagOnce: --help prints every flag that the command accepts, once.
func TestHelpListsEveryFlagOnce(t *testing.T) {
	var out bytes.Buffer
	command := command(facadeName)
	command.SetOut(&out)
	command.SetArgs([]string{"--help"})
	if err := command.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	var listed, accepted []string
	for _, match := range listedFlag.FindAllStringSubmatch(out.String(), -1) {
		listed = append(listed, match[1])
	}
	command.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && f.Name != "version" {
			accepted = append(accepted, f.Name)
		}
	})
	slices.Sort(listed)
	slices.Sort(accepted)
	if diff := cmp.Diff(accepted, listed); diff != "" || len(accepted) < 20 {
		t.Errorf("%d flags (-accepted +listed):\n%s\n%s", len(accepted), diff, &out)
	}
}

// TestFlagsKeepDefaults: defining the flags changes no default, and setting any flag changes the Config.
func TestFlagsKeepDefaults(t *testing.T) {
	for _, group := range flagsOf(new(facade.Config)) {
		group.flags.VisitAll(func(f *pflag.Flag) {
			config := facade.Defaults()
			for _, own := range flagsOf(&config) {
				set := own.flags.Lookup(f.Name)
				if diff := cmp.Diff(facade.Defaults(), config); diff != "" {
					t.Fatalf("defining the flags changes the defaults:\n%s", diff)
				}
				if set == nil {
					continue
				}
				if err := set.Value.Set(otherThan(set)); err != nil {
					t.Fatalf("--%s: %v", f.Name, err)
				}
				if cmp.Equal(facade.Defaults(), config) {
					t.Errorf("--%s changes nothing", f.Name)
				}
				return
			}
		})
	}
}

// otherThan returns a value that differs from the flag's default.
func otherThan(f *pflag.Flag) string {
	if f.DefValue == "true" {
		return "false"
	}
	return map[string]string{
		"ip": "127.0.0.9", "int": "7", "on|off": "off", "auto|quantity": "1Gi", "quantity": "1Gi", "int64": "7", "float64": "7", "duration": "7s", "bool": "true", "string": "other", "stringSlice": "other",
	}[f.Value.Type()]
}
