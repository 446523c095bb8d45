package auth

import (
	"fmt"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
)

// BenchmarkLost measures changes that affect no known user, with the maximum number of cached decisions.
func BenchmarkLost(b *testing.B) {
	const places = 256
	r := NewReviews(ReviewsConfig{Upstream: newJudge()})
	for i := range maxVerdicts / places {
		who := person(fmt.Sprint("user", i), "team", "system:authenticated")
		for k := range places {
			allow(r, podsOf(who, fmt.Sprint(k)))
		}
	}
	for name, namespace := range map[string]string{"namespace": "1", "cluster": ""} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r.Lost(Affected{namespace: func(user.Info) bool { return false }})
				r.watches.looks = nil
			}
		})
	}
}
