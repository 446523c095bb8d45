package journal

import "time"

// Silence is the time after a lane's last record during which the lane is treated as recorded. A lane without events
// has a record for each bookmark of kube-apiserver, about one a minute.
const Silence = 2 * time.Minute
