package files

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
)

// Directory is the path of the recorded responses. It has a subdirectory for each set.
type Directory string

// kept contains the names of the response headers that Put records: those that describe the body.
var kept = []string{"Content-Type", "Content-Encoding"}

// Path returns the URL path of the i-th response of a set.
func Path(set string, i int) string { return "/" + set + "/" + strconv.Itoa(i) }

// Put writes a response to disk as the i-th of a set.
func (d Directory) Put(set string, i int, header http.Header, body []byte) error {
	chosen := http.Header{}
	for _, name := range kept {
		if value := header.Get(name); value != "" {
			chosen.Set(name, value)
		}
	}
	head, err := json.Marshal(chosen)
	if err != nil {
		return fmt.Errorf("record a response: %w", err)
	}
	path := filepath.Join(string(d), filepath.FromSlash(Path(set, i)))
	if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
		err = os.WriteFile(path+headSuffix, head, 0o644)
	}
	if err == nil {
		err = os.WriteFile(path, body, 0o644)
	}
	if err != nil {
		return fmt.Errorf("record a response: %w", err)
	}
	return nil
}

// Remove deletes a set.
func (d Directory) Remove(set string) error {
	return os.RemoveAll(filepath.Join(string(d), set))
}

// headSuffix is the suffix of the file with the headers of a response.
const headSuffix = ".header"

// answer is a recorded response.
type answer struct {
	header http.Header
	body   []byte
}

func (d Directory) get(path string) (a answer, err error) {
	name := filepath.Join(string(d), filepath.FromSlash(path))
	head, err := os.ReadFile(name + headSuffix)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(head, &a.header); err != nil {
		return a, err
	}
	a.body, err = os.ReadFile(name)
	return a, err
}
