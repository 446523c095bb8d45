package settings

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// usualPatience is longer than each pause of the program that a test may have to wait for, which is five minutes at
// most (internal/reflector/memory_admission.go). Longer pauses, such as those between relists of the self-audit, are
// tested in bubbles. All other waits take much less on two idle processors. A busy machine makes tests slow, but does
// not make them fail.
const usualPatience = 6 * time.Minute

// Patience returns how long a test waits for anything before it fails: six minutes, times the number in
// LISTFACADE_PATIENCE. It is the only deadline of tests; internal/layering refuses others. A test whose claim is about
// time counts events or runs in a testing/synctest bubble.
func Patience() time.Duration {
	text, ok := os.LookupEnv("LISTFACADE_PATIENCE")
	if !ok {
		return usualPatience
	}
	factor, err := strconv.ParseFloat(text, 64)
	if err != nil || factor <= 0 {
		panic(fmt.Sprintf("LISTFACADE_PATIENCE=%s is not a positive number", text))
	}
	return time.Duration(factor * float64(usualPatience))
}
