package dataset

import (
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	hexDigits = "0123456789abcdef"
	// suffixLetters are the characters of generated names. There are no vowels, so names do not contain words.
	suffixLetters = "bcdfghjklmnpqrstvwxz2456789"
)

func text(r *rand.Rand, alphabet string, length int) string {
	b := make([]byte, length)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

func uid(r *rand.Rand) types.UID {
	h := text(r, hexDigits, 32)
	return types.UID(fmt.Sprintf("%s-%s-4%s-9%s-%s", h[:8], h[8:12], h[13:16], h[17:20], h[20:]))
}

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

// ago returns a time less than the given number of days before newest, in whole seconds, like times in the API.
func ago(r *rand.Rand, days int) metav1.Time {
	return metav1.Time{Time: newest.Add(-time.Duration(r.IntN(days*86400)) * time.Second)}
}

// after returns a time that is 1 to the given number of seconds later.
func after(r *rand.Rand, t metav1.Time, seconds int) metav1.Time {
	return metav1.Time{Time: t.Add(time.Duration(1+r.IntN(seconds)) * time.Second)}
}
