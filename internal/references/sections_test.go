package references

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"unicode"
)

// semantics is the document about kube-apiserver's behaviour. Code and tests cite its sections.
const semantics = "docs/semantics.md"

// numbers matches one number or several, such as 4.3, or 1.2, 1.5 and 2.1.
const numbers = `(\d+(?:\.\d+)?(?:(?:,\s+|\s+and\s+|,\s+and\s+|\s+to\s+)\d+(?:\.\d+)?)*)`

var (
	sectionsCited  = regexp.MustCompile(`\b[Ss]emantics\s+` + numbers)
	ownSections    = regexp.MustCompile(`\b[Ss]ections?\s+` + numbers)
	decisionsCited = regexp.MustCompile(`\bADRs?\s+` + numbers)
	invariants     = regexp.MustCompile(`\bI(\d+)\b`)
	number         = regexp.MustCompile(`\d+(?:\.\d+)?`)
	heading        = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// checkSections finds sections that docs/semantics.md does not have.
func (k *known) checkSections(x text) []string {
	cited := sectionsCited
	if x.file == semantics {
		cited = ownSections
	}
	return checkNumbers(x, cited, func(n string) string {
		if k.sections[n] {
			return ""
		}
		return fmt.Sprintf("%s has no section %s", semantics, n)
	})
}

// checkDecisions finds decisions that do not exist.
func (k *known) checkDecisions(x text) []string {
	return checkNumbers(x, decisionsCited, func(n string) string {
		if k.tree.hasExactly(fmt.Sprintf("docs/adr/%04s-*.md", n)) {
			return ""
		}
		return "there is no ADR " + n
	})
}

// checkInvariants finds invariants that the cache does not promise.
func (k *known) checkInvariants(x text) []string {
	return checkNumbers(x, invariants, func(n string) string {
		if k.invariants["I"+n] {
			return ""
		}
		return fmt.Sprintf("%s has no I%s", promises, n)
	})
}

// checkNumbers calls wrong for each number in the first group of a pattern, and reports the returned messages.
func checkNumbers(x text, pattern *regexp.Regexp, problem func(string) string) []string {
	var breaches []string
	for _, at := range pattern.FindAllStringSubmatchIndex(x.body, -1) {
		for _, n := range number.FindAllString(x.body[at[2]:at[3]], -1) {
			if message := problem(n); message != "" {
				breaches = append(breaches, x.breach(at[0], "%s", message))
			}
		}
	}
	return breaches
}

// sections returns the section numbers in a Markdown file's headings.
func (t *tree) sections(name string) map[string]bool {
	numbers := map[string]bool{}
	for _, title := range t.titles(name) {
		first, _, _ := strings.Cut(title, " ")
		numbers[strings.TrimSuffix(first, ".")] = true
	}
	return numbers
}

// titles returns the headings of a Markdown file.
func (t *tree) titles(name string) []string {
	body, err := fs.ReadFile(t.fs, name)
	if err != nil {
		return nil
	}
	var titles []string
	for _, found := range heading.FindAllStringSubmatch(string(body), -1) {
		titles = append(titles, found[1])
	}
	return titles
}

// headings returns the headings of a Markdown file as in links: lower case, dashes for spaces, no punctuation.
func (t *tree) headings(name string) map[string]bool {
	anchors := map[string]bool{}
	for _, title := range t.titles(name) {
		anchors[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			default:
				return -1
			}
		}, title)] = true
	}
	return anchors
}
