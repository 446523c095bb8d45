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

// TestHelpListsEveryFlagOnce: --help prints the flags by theme, and forgets none that the command takes.
func TestHelpListsEveryFlagOnce(t *testing.T) {
	var out bytes.Buffer
	command := command()
	command.SetOut(&out)
	command.SetArgs([]string{"--help"})
	if err := command.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	var listed, taken []string
	for _, match := range listedFlag.FindAllStringSubmatch(out.String(), -1) {
		listed = append(listed, match[1])
	}
	command.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			taken = append(taken, f.Name)
		}
	})
	slices.Sort(listed)
	slices.Sort(taken)
	if diff := cmp.Diff(taken, listed); diff != "" || len(taken) < 20 {
		t.Errorf("%d flags (-taken +listed):\n%s\n%s", len(taken), diff, &out)
	}
}

// TestFlagsKeepDefaults: parsing no flag changes nothing, and every flag changes something of its own.
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

// otherThan is a value that a flag does not have.
func otherThan(f *pflag.Flag) string {
	if f.DefValue == "true" {
		return "false"
	}
	return map[string]string{
		"ip": "127.0.0.9", "int": "7", "on|off": "off", "auto|quantity": "1Gi", "int64": "7", "float64": "7", "duration": "7s", "bool": "true", "string": "other", "stringSlice": "other",
	}[f.Value.Type()]
}
