package references

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"unicode"
)

// semantics says what kube-apiserver answers; code and tests cite its sections.
const semantics = "docs/semantics.md"

// Numbers come alone or in a row: 4.3, or 1.2, 1.5 and 2.1.
const numbers = `(\d+(?:\.\d+)?(?:(?:,\s+|\s+and\s+|,\s+and\s+|\s+to\s+)\d+(?:\.\d+)?)*)`

var (
	sectionsCited  = regexp.MustCompile(`\b[Ss]emantics\s+` + numbers)
	ownSections    = regexp.MustCompile(`\b[Ss]ections?\s+` + numbers)
	decisionsCited = regexp.MustCompile(`\bADRs?\s+` + numbers)
	invariants     = regexp.MustCompile(`\bI(\d+)\b`)
	number         = regexp.MustCompile(`\d+(?:\.\d+)?`)
	heading        = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// checkSections finds sections of docs/semantics.md that it has not.
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

// checkDecisions finds decisions that were never written down.
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

// checkNumbers finds what is wrong with the numbers in a pattern's first group, each by itself.
func checkNumbers(x text, pattern *regexp.Regexp, wrong func(string) string) []string {
	var breaches []string
	for _, at := range pattern.FindAllStringSubmatchIndex(x.body, -1) {
		for _, n := range number.FindAllString(x.body[at[2]:at[3]], -1) {
			if why := wrong(n); why != "" {
				breaches = append(breaches, x.breach(at[0], "%s", why))
			}
		}
	}
	return breaches
}

// sections returns the numbers of a Markdown file's headings.
func (t *tree) sections(name string) map[string]bool {
	there := map[string]bool{}
	for _, title := range t.titles(name) {
		first, _, _ := strings.Cut(title, " ")
		there[strings.TrimSuffix(first, ".")] = true
	}
	return there
}

// titles returns a Markdown file's headings.
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

// headings returns a Markdown file's headings as links write them: lower case, dashes for spaces, no punctuation.
func (t *tree) headings(name string) map[string]bool {
	there := map[string]bool{}
	for _, title := range t.titles(name) {
		there[strings.Map(func(r rune) rune {
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
	return there
}
