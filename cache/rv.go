package cache

import (
	"fmt"
	"strconv"
)

// RV is a resourceVersion: a position in the upstream's order of writes. RVs of one upstream compare across resources
// (KEP-5504).
type RV uint64

// ParseRV parses a resourceVersion as the upstream writes it, in decimal digits only.
func ParseRV(s string) (RV, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("parse resourceVersion: %w", err)
	}
	return RV(n), nil
}

// String returns the RV as in metadata.resourceVersion.
func (r RV) String() string {
	return strconv.FormatUint(uint64(r), 10)
}
