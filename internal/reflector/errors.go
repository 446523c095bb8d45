package reflector

import "errors"

// ErrStopped says that no lane is given out any more.
var ErrStopped = errors.New("the lanes are stopped")
