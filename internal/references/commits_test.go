package references

import (
	"os/exec"
	"strings"
	"testing"
)

// TestCommitMessageIsChecked runs the check that the commit hook and CI share.
func TestCommitMessageIsChecked(t *testing.T) {
	const reason = "\n\nReaders need the version.\n"
	tests := []struct{ name, message, changed, want string }{
		{"a good message", "cache: send the version with refusals" + reason, "200", ""},
		{"a file at the root", "Makefile: run suites before unit tests" + reason, "200", ""},
		{"a trivial change without a body", "docs: fix a link\n", "10", ""},
		{"comments of git", "docs: fix a link\n\n# Please enter\n", "2", ""},
		{"a merge", "Merge branch 'main'\n", "500", ""},
		{"a verb that ends like a participle", "cache: feed watchers in order" + reason, "200", ""},
		{"a verb that ends with s", "cache: bypass the queue" + reason, "200", ""},
		{"no body", "cache: send the version with refusals\n", "11", "the body with the reason is missing"},
		{"an empty body", "cache: send the version with refusals\n\n \n", "11", "the body with the reason is missing"},
		{"no package", "send the version with refusals" + reason, "200", `the subject is not "package: do something"`},
		{"one word", "cache: fix" + reason, "200", `the subject is not "package: do something"`},
		{"a capital", "cache: Send the version" + reason, "200", `the subject is not "package: do something"`},
		{"a noun", "cache: the version comes with refusals" + reason, "200", "does not begin with a verb"},
		{"the past", "cache: added a version" + reason, "200", "not in the imperative"},
		{"the third person", "cache: sends the version" + reason, "200", "not in the imperative"},
		{"no empty line", "cache: send the version\nwith refusals", "200", "the second line is not empty"},
		{"a long subject", "cache: " + strings.Repeat("send ", 14) + "it" + reason, "200", "more than 72 characters"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), "../../.ci/commit-message", test.changed)
			command.Stdin = strings.NewReader(test.message)
			out, err := command.CombinedOutput()
			if accepted := err == nil; accepted != (test.want == "") || !strings.Contains(string(out), test.want) {
				t.Errorf("got %v and %q, want %q", err, out, test.want)
			}
		})
	}
}
