package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/bench/internal/files"
	"github.com/listfacade/listfacade/bench/internal/proc"
)

// serveFiles is the first argument with which the benchmark starts itself as the bare file server. The other arguments
// are the directory and the files of the certificate and its key.
const serveFiles = "serve-files"

// fileServer is the bare file server (internal/files) in a separate process.
type fileServer struct {
	*server
	answers files.Directory
	process *exec.Cmd
	stdin   io.Closer // closing it ends the server
}

// startFileServer serves recorded responses below a directory, with the certificate that the facade created there.
func startFileServer(ctx context.Context, dir string) (*fileServer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the benchmark's executable: %w", err)
	}
	certificate := filepath.Join(dir, "listfacade.crt")
	f := &fileServer{answers: files.Directory(filepath.Join(dir, "answers"))}
	f.process = exec.CommandContext(ctx, self, serveFiles, string(f.answers), certificate,
		filepath.Join(dir, "listfacade.key"))
	f.process.Stderr = os.Stderr
	stdout, err := f.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if f.stdin, err = f.process.StdinPipe(); err != nil {
		return nil, err
	}
	if err := f.process.Start(); err != nil {
		return nil, fmt.Errorf("start the file server: %w", err)
	}
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err == nil {
		f.server, err = newServer("file server", proc.Process(f.process.Process.Pid), &rest.Config{
			Host: "https://" + strings.TrimSpace(address), TLSClientConfig: rest.TLSClientConfig{CAFile: certificate},
		})
	}
	if err != nil {
		f.stop()
		return nil, fmt.Errorf("start the file server: %w", err)
	}
	return f, nil
}

func (f *fileServer) stop() {
	_ = f.stdin.Close()
	_ = f.process.Wait() // its exit status is not measured
}

// beFileServer is the main function of the file server's process.
func beFileServer(args []string) error {
	if len(args) != 3 {
		return errors.New(serveFiles + " needs a directory, a certificate and a key")
	}
	return files.Serve(files.Directory(args[0]), args[1], args[2])
}

// sends returns the visit of a file server's client, which reads the n responses of a set.
func (l load) sends(set string, n int) visit {
	return func(ctx context.Context, c caller) (sample, error) {
		var sum sample
		for i := range n {
			q := question{path: files.Path(set, i), accept: "*/*", encoding: l.question.encoding, protocol: l.question.protocol}
			_, one, err := c.fetch(ctx, q, io.Discard)
			if err != nil {
				return sum, err
			}
			if i == 0 {
				sum.first = one.first
			}
			sum.wall, sum.bytes = sum.wall+one.wall, sum.bytes+one.bytes
		}
		return sum, nil
	}
}
