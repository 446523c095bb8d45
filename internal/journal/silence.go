package journal

import "time"

// Silence is the maximum time without a record of a lane that is recorded. A moment that is later than the last record
// of a lane by more than this counts as not recorded. Lanes without events have a record for each bookmark of
// kube-apiserver, about one a minute.
const Silence = 2 * time.Minute
