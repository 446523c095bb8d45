package references

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// tree contains all files and directories of the repository, by path relative to the root.
type tree struct {
	fs    fs.FS
	paths map[string]bool
	names map[string]int // number of files with a name
}

// notOurs are directories that git, npm and make create. They contain documents of other projects.
var notOurs = []string{".git", "node_modules", "bin", "dist"}

func readTree(root fs.FS) (*tree, error) {
	t := &tree{fs: root, paths: map[string]bool{}, names: map[string]int{}}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains(notOurs, entry.Name()) {
			return fs.SkipDir
		}
		t.paths[name] = true
		t.names[path.Base(name)]++
		return nil
	})
	return t, err
}

// has reports whether a name, which may contain asterisks, exists in a directory or a directory above it. A name
// without a directory that several files have, such as doc.go, means all of them.
func (t *tree) has(name, dir string) bool {
	if t.isCommon(name) {
		return true
	}
	for ; ; dir = path.Dir(dir) {
		if t.hasExactly(path.Join(dir, name)) {
			return true
		}
		if dir == "." {
			return false
		}
	}
}

func (t *tree) isCommon(name string) bool {
	const several = 3
	files := 0
	for known, n := range t.names {
		if ok, _ := path.Match(name, known); ok {
			files += n
		}
	}
	return files >= several
}

func (t *tree) hasExactly(name string) bool {
	if !strings.Contains(name, "*") {
		return t.paths[name]
	}
	for p := range t.paths {
		if ok, _ := path.Match(name, p); ok {
			return true
		}
	}
	return false
}

// files returns the files with an extension, sorted; only those Go files that Go tools read.
func (t *tree) files(extension string) []string {
	var found []string
	for name := range t.paths {
		if path.Ext(name) == extension && (extension != ".go" || !passedOver(name)) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// passedOver reports whether Go tools ignore a file, because its path contains testdata or an element that starts with
// a dot or an underscore.
func passedOver(name string) bool {
	for _, element := range strings.Split(name, "/") {
		if element == "testdata" || element[0] == '.' || element[0] == '_' {
			return true
		}
	}
	return false
}
