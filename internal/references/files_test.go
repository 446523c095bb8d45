package references

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// extensions are those of files that a repository holds, so that a word which ends with one names a file.
var extensions = []string{
	".go", ".md", ".txt", ".sh", ".py", ".mjs", ".yml", ".yaml", ".json", ".mod", ".sum", ".txtar",
}

// checkFiles finds names of files and directories that are not there.
func (k *known) checkFiles(x text) []string {
	var breaches []string
	body := links.ReplaceAllStringFunc(x.body, blank) // which checkLinks looks at
	for _, at := range words.FindAllStringIndex(body, -1) {
		name := pathIn(body[at[0]:at[1]])
		if name != "" && k.namesFile(x, name) && !k.tree.has(name, x.dir()) && foreignFiles[name] == "" {
			breaches = append(breaches, x.breach(at[0], "there is no file or directory %s", name))
		}
	}
	return breaches
}

// words are what is left of a text when white space and punctuation are taken away that no path has.
var words = regexp.MustCompile("[^\\s`()\\[\\]\"',;:=|!?“”]+")

// symbol is what stands behind a package's path when a word names something in the package.
var symbol = regexp.MustCompile(`\.[A-Z]\w*(\.\w+)*$`)

// pathIn returns the path that a word is, or "" when it cannot be one from inside the repository.
func pathIn(word string) string {
	word = strings.TrimSuffix(strings.TrimRight(word, "."), "/")
	word = strings.TrimSuffix(symbol.ReplaceAllString(word, ""), "/")
	if word == "" || strings.HasPrefix(word, "/") || strings.ContainsAny(word, "<>{}$@%~\\…") {
		return ""
	}
	return word
}

// namesFile reports whether a path is meant to be one of ours: it begins with a directory at the root, or ends like a
// file and begins like no other module's import path.
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

// links are Markdown's: the file and the heading in it, either of which may be missing.
var links = regexp.MustCompile(`\]\(([^()#\s]*)(?:#([^()\s]*))?\)`)

// blank keeps the length, so that places after it stay where they are.
func blank(s string) string { return strings.Repeat(" ", len(s)) }

// checkLinks finds Markdown links that lead nowhere in the repository.
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
