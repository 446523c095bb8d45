package journal

import "time"

// Silence is how long a recorded lane has no record at most. A moment that is later than the last record of a lane by
// more than this counts as not recorded. Lanes without events have a record for each bookmark of kube-apiserver, about
// one a minute.
const Silence = 2 * time.Minute
