package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// describe returns one line about the machine and the programs.
func describe(ctx context.Context, direct *server) (string, error) {
	a, err := direct.read(ctx, question{name: "version", path: "/version", encoding: "identity", protocol: http2})
	if err != nil {
		return "", err
	}
	var version struct{ GitVersion, GoVersion string }
	if err := json.Unmarshal(a.body, &version); err != nil {
		return "", fmt.Errorf("read the version of kube-apiserver: %w", err)
	}
	return machine(ctx, fmt.Sprintf("kube-apiserver %s (%s), ", version.GitVersion, version.GoVersion)), nil
}

// machine returns one line about the machine, the other programs, and the facade.
func machine(ctx context.Context, others string) string {
	return fmt.Sprintf("%s; %slistfacade %s (%s); nothing pinned, load average %s",
		hardware(), others, commit(ctx), runtime.Version(), loadAverage())
}

func hardware() string {
	return fmt.Sprintf("%d processors (%s), %s/%s", runtime.NumCPU(), processor(), runtime.GOOS, runtime.GOARCH)
}

// processor returns the name of the processor model, if the system reports it.
func processor() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown model"
	}
	for line := range bytes.Lines(info) {
		if name, value, ok := strings.Cut(string(line), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown model"
}

// loadAverage returns the number of runnable threads, averaged over the last minute. It includes the benchmark's own.
// The higher it is, the less the wall-clock times mean.
func loadAverage() string {
	averages, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	minute, _, _ := strings.Cut(string(averages), " ")
	return minute
}

// commit returns the commit of the sources that the facade was built from.
func commit(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "of an unknown commit"
	}
	return strings.TrimSpace(string(out))
}
