package journal

import "time"

// Silence is the time after a lane's last record during which readers assume that the journal lacks no events of the
// lane. A lane without events has a record for each bookmark of kube-apiserver, about one a minute.
const Silence = 2 * time.Minute
