package fresh

import (
	"errors"
	"fmt"
)

var (
	// ErrUnproven is returned if no check could confirm that the lane is complete up to the wanted resourceVersion,
	// although the upstream may have reached it.
	ErrUnproven = errors.New("the cache could not be confirmed fresh")
	// ErrAhead is returned if the wanted resourceVersion is higher than the upstream's.
	ErrAhead = errors.New("the resourceVersion is higher than the upstream's")
	// ErrContradicted is an ErrUnproven. It is returned if a check or the writer has found that the lane is wrong,
	// until the lane is listed again. Checker.Forwards says whether the upstream may answer instead.
	ErrContradicted = fmt.Errorf("%w: it contradicts the upstream", ErrUnproven)
	// ErrSetBack is an ErrContradicted. It is returned if the lane is at a higher resourceVersion than the upstream,
	// because the upstream was restored.
	ErrSetBack = fmt.Errorf("%w, which is at an earlier resourceVersion than before", ErrContradicted)
	// ErrUnsupported is returned by a Source for a kind of request that the upstream never answers.
	ErrUnsupported = errors.New("the upstream does not support this request")

	errForwarded  = fmt.Errorf("%w: the upstream answers", ErrUnproven) // if the answer is costly, forward has counted it
	errCheaper    = fmt.Errorf("%w at a lower cost than the upstream's answer", ErrUnproven)
	errStopped    = errors.New("freshness checks have stopped")
	errNoResource = errors.New("no resource to read the resourceVersion from")
)
