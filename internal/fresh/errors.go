package fresh

import (
	"errors"
	"fmt"
)

var (
	// ErrUnproven says that the lane could not be shown to hold everything up to the wanted resourceVersion, at which
	// the upstream is or may be.
	ErrUnproven = errors.New("the cache could not be proven fresh")
	// ErrAhead says that the wanted resourceVersion lies above the upstream's.
	ErrAhead = errors.New("the resourceVersion lies in the future")
	// ErrUnsupported is how a Source says that the upstream will never answer a question.
	ErrUnsupported = errors.New("the upstream does not answer such a question")

	errCheaper      = fmt.Errorf("%w for less than its answer costs the upstream", ErrUnproven)
	errSetBack      = errors.New("the upstream is at an earlier resourceVersion than before")
	errContradicted = fmt.Errorf("%w: it has other objects than the upstream at the same resourceVersion", ErrUnproven)
	errOver         = errors.New("no question is asked any more")
	errNoResource   = errors.New("no resource of the store is known")
)
