package binaries

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const modulePath = "github.com/listfacade/listfacade/devcluster"

// ErrNoModule is returned when no checkout of the module was found.
var ErrNoModule = errors.New("no go.mod of " + modulePath +
	" in the working directory, its parents, or their subdirectories devcluster; set --module-dir")

// FindModule searches for the module from dir upwards, at each level also in a subdirectory devcluster.
func FindModule(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find module: %w", err)
	}
	for {
		for _, candidate := range []string{dir, filepath.Join(dir, "devcluster")} {
			if isModule(candidate) {
				return candidate, nil
			}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", ErrNoModule
		}
		dir = parent
	}
}

func isModule(dir string) bool {
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return false
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		if lines.Text() == "module "+modulePath {
			return true
		}
	}
	return false
}
