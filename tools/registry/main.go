// Command registry keeps images in memory and speaks OCI's distribution protocol, for tests: it prints the address of a free port of this machine and serves
// there until its standard input is closed.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "registry:", err)
		os.Exit(1)
	}
	fmt.Println(listener.Addr())
	server := &http.Server{Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0))), ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(listener)            //nolint:errcheck // ends with the process
	_, _ = io.Copy(io.Discard, os.Stdin) // to its end
}
