package facade

import (
	"fmt"
	"slices"
	"strings"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
	"github.com/listfacade/listfacade/internal/wire/protowire"
)

// Encodings returns all encodings of lanes. The first one is JSON.
func Encodings() []wire.Encoding { return encodings() }

// encodings returns all encodings of lanes. The first one must be JSON (handlers.Config). internal/metrics,
// internal/timeline, and internal/verify distinguish encodings by name. internal/price has a price for each encoding.
func encodings() []wire.Encoding {
	return []wire.Encoding{jsonwire.Encoding{}, protowire.Encoding{}}
}

func encodingsOf(names []string) []wire.Encoding {
	var named []wire.Encoding
	for _, name := range names {
		for _, e := range encodings() {
			if e.Name() == name {
				named = append(named, e)
			}
		}
	}
	return named
}

// checkEncodings returns an error for a name that no encoding has. setting is the flag or key that contains the names.
func checkEncodings(setting string, names []string) error {
	known := make([]string, 0, len(encodings()))
	for _, e := range encodings() {
		known = append(known, e.Name())
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("%s %q: must be %s", setting, name, strings.Join(known, " or "))
		}
	}
	return nil
}
