package document

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each block of the documents is in the table, so a new command needs a test, or a reason why it has none.
func TestEveryBlockIsClaimed(t *testing.T) {
	for document, table := range claims {
		var blocks, claimed []string
		for _, b := range read(t, document) {
			blocks = append(blocks, fmt.Sprintf("%s, block %d", b.Section, b.Number))
		}
		for _, c := range table {
			claimed = append(claimed, fmt.Sprintf("%s, block %d", c.section, c.number))
		}
		if diff := cmp.Diff(claimed, blocks); diff != "" {
			t.Errorf("%s (-claims.go +document)\n%s", document, diff)
		}
	}
}

// Each claim has a test that reaches the block, or a reason.
func TestClaimedTestsUseTheirBlocks(t *testing.T) {
	packages := map[string]*source{}
	for document, table := range claims {
		for _, c := range table {
			if (c.test == "") == (c.reason == "") {
				t.Errorf("%s, %s, block %d: want either a test or a reason", document, c.section, c.number)
			}
			if c.test == "" {
				continue
			}
			if packages[c.pkg] == nil {
				packages[c.pkg] = parseTests(t, c.pkg)
			}
			if !packages[c.pkg].reaches(c.test, c.section) {
				t.Errorf("%s of %s does not use the section %q of %s", c.test, c.pkg, c.section, document)
			}
		}
	}
}

// span matches a command with a flag between backquotes.
var span = regexp.MustCompile("`([a-z][a-z0-9-]* (?:[^`]* )?--?[a-z][^`]*)`")

// Commands in the text need a reason, too, because no test runs them.
func TestEverySpanIsListed(t *testing.T) {
	for _, document := range []string{Readme, Clients} {
		text, err := os.ReadFile(filepath.Join(Root(t), document))
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, match := range span.FindAllStringSubmatch(string(text), -1) {
			found = append(found, match[1])
		}
		for _, command := range found {
			if spans[document][command] == "" {
				t.Errorf("%s: claims.go has no reason for %q", document, command)
			}
		}
		for command := range spans[document] {
			if !slices.Contains(found, command) {
				t.Errorf("%s has no command %q", document, command)
			}
		}
	}
}
