package kubelet

import (
	"encoding/json"
	"errors"
	"os/exec"
	"testing"
)

func TestStatusOfProcess(t *testing.T) {
	failed := exec.CommandContext(t.Context(), "sh", "-c", "exit 3").Run()
	for want, err := range map[string]error{
		`{"status":"Success"}`:                      nil,
		`{"message":"no shell","status":"Failure"}`: errors.New("no shell"),
		`{"details":{"causes":[{"message":"3","reason":"ExitCode"}]},"message":"exit status 3","reason":"NonZeroExitCode","status":"Failure"}`: failed,
	} {
		if got, fault := json.Marshal(statusOf(err)); fault != nil || string(got) != want {
			t.Errorf("%v: got %s, %v, want %s", err, got, fault, want)
		}
	}
}
