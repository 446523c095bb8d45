package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"` // empty if the build did not record it
	Modified bool   `json:"modified"`         // the sources differed from the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func thisBuild() build {
	b := build{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Commit = setting.Value
		case "vcs.modified":
			b.Modified = setting.Value == "true"
		}
	}
	return b
}

// write prints the build as JSON or, without a format, as lines of text.
func (b build) write(w io.Writer, format string) error {
	switch format {
	case "json":
		return json.NewEncoder(w).Encode(b)
	case "":
	default:
		return fmt.Errorf("--output %q: must be json", format)
	}
	commit := b.Commit
	switch {
	case commit == "":
		commit = "unknown"
	case b.Modified:
		commit += ", with changes"
	}
	_, err := fmt.Fprintf(w, "listfacade %s\ncommit:    %s\ngo:        %s\nplatform:  %s\n", b.Version, commit, b.Go, b.Platform)
	return err
}

func versionCommand() *cobra.Command {
	var format string
	command := &cobra.Command{
		Use: "version", Short: "Print the version, the commit, and the Go version and platform of the build", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return thisBuild().write(cmd.OutOrStdout(), format) },
	}
	command.Flags().StringVarP(&format, "output", "o", "", "`format` of the output: json, or lines of text when empty")
	command.SetUsageFunc(usageOf)
	return command
}

// usageOf prints the usage line and the flags of a command, instead of its parent's usage.
func usageOf(cmd *cobra.Command) error {
	flags := cmd.Flags().FlagUsagesWrapped(120)
	_, err := fmt.Fprintf(cmd.OutOrStderr(), "Usage:\n  %s\n\nFlags:\n%s", cmd.UseLine(), flags)
	return err
}
