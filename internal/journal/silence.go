package journal

import "time"

// Silence is the maximum time between two records of a lane. A moment that is later than a lane's last record by more
// than Silence counts as not recorded. Lanes without events have a record for each bookmark of kube-apiserver, about
// one a minute.
const Silence = 2 * time.Minute
