package document

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const example = `# Title

Text
    that continues.

    first
      deeper \
      continued

    second

## Part ` + "`a`" + `

1. Step

       in a list

   Text.

` + "```sh" + `
# no heading

    marked
` + "```" + `
### Deeper

    last`

func TestParse(t *testing.T) {
	want := []Block{
		{"Title", 0, 6, "first\n  deeper \\\n  continued\n"},
		{"Title", 1, 10, "second\n"},
		{"Part `a`", 0, 16, "in a list\n"},
		{"Part `a`", 1, 21, "# no heading\n\n    marked\n"},
		{"Deeper", 0, 27, "last\n"},
	}
	if diff := cmp.Diff(want, Parse(example)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestCommandsJoinsLines(t *testing.T) {
	got := Commands(Parse(example)[0].Text)
	if diff := cmp.Diff([]string{"first", "  deeper continued"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
