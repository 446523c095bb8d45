package references

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// extensions are the extensions by which a word is recognized as a file name.
var extensions = []string{
	".go", ".md", ".txt", ".sh", ".py", ".mjs", ".yml", ".yaml", ".json", ".mod", ".sum", ".txtar",
}

// checkFiles finds names of files and directories that do not exist.
func (k *known) checkFiles(x text) []string {
	var breaches []string
	body := links.ReplaceAllStringFunc(x.body, blank) // checkLinks checks links
	for _, at := range words.FindAllStringIndex(body, -1) {
		name := pathIn(body[at[0]:at[1]])
		if name != "" && k.namesFile(x, name) && !k.tree.has(name, x.dir()) && foreignFiles[name] == "" {
			breaches = append(breaches, x.breach(at[0], "there is no file or directory %s", name))
		}
	}
	return breaches
}

// words matches text between white space and punctuation that no path contains.
var words = regexp.MustCompile("[^\\s`()\\[\\]\"',;:=|!?“”]+")

// symbol matches a name after the path of its package.
var symbol = regexp.MustCompile(`\.[A-Z]\w*(\.\w+)*$`)

// pathIn returns the path in a word; "" if it cannot be a path in the repository.
func pathIn(word string) string {
	word = strings.TrimSuffix(strings.TrimRight(word, "."), "/")
	word = strings.TrimSuffix(symbol.ReplaceAllString(word, ""), "/")
	if word == "" || strings.HasPrefix(word, "/") || strings.ContainsAny(word, "<>{}$@%~\\…") {
		return ""
	}
	return word
}

// namesFile reports whether a path is meant to be in the repository. It either begins with a directory of the root, or
// has a known extension and does not begin like an import path.
func (k *known) namesFile(x text, name string) bool {
	first, _, deep := strings.Cut(name, "/")
	if deep && k.tree.paths[first] {
		return true
	}
	if x.file == foreignPaths || deep && strings.Contains(strings.TrimLeft(first, "."), ".") {
		return false
	}
	extension := path.Ext(name)
	if extension == "" || extension == path.Base(name) {
		return false
	}
	return slices.Contains(extensions, extension)
}

// links matches Markdown links: a file and a heading, each of which may be missing.
var links = regexp.MustCompile(`\]\(([^()#\s]*)(?:#([^()\s]*))?\)`)

// blank returns as many spaces as s has bytes, so that later offsets do not change.
func blank(s string) string { return strings.Repeat(" ", len(s)) }

// checkLinks finds Markdown links to files or headings that do not exist.
func (k *known) checkLinks(x text) []string {
	var breaches []string
	for _, at := range links.FindAllStringSubmatchIndex(x.body, -1) {
		target, heading := x.file, ""
		if at[2] != at[3] {
			target = x.body[at[2]:at[3]]
			if strings.Contains(target, "://") {
				continue
			}
			target = path.Join(x.dir(), target)
		}
		if at[4] >= 0 {
			heading = x.body[at[4]:at[5]]
		}
		switch {
		case !k.tree.paths[target]:
			breaches = append(breaches, x.breach(at[0], "the link leads to no file: %s", target))
		case heading != "" && !k.tree.headings(target)[heading]:
			breaches = append(breaches, x.breach(at[0], "%s has no heading #%s", target, heading))
		}
	}
	return breaches
}
