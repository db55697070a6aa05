package consolecmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/console"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/source"
)

// consoleFlags are what the command line says.
type consoleFlags struct {
	source.Flags
	testenv string
	listen  string
	hosts   []string
	every   time.Duration
	span    time.Duration
}

const consoleLong = `Serves a page that shows a cluster: its nodes with their pods by NodePool and zone, their present and past price, the
pending pods and why they are pending, past decisions, and what consolidation would save. It reads, and changes nothing.

` + source.Help + `

While a page is open it checks for changes every two seconds (--every). A check reads one item of the table; when the
watcher has published something, or after ten seconds, it reads all items of the cluster. While no page is open, it
reads nothing. Files are read again when they change.

The page is served on this machine alone, unless --listen says otherwise. It has no password: everyone who reaches the
address sees the cluster. It refuses requests with an unknown Host header; --host allows one more name.

Exit status: 0 when it was stopped; 2 if the cluster cannot be read or the address cannot be served.`

const consoleExample = `  # the only cluster of the installation; prints the address
  joiner console

  # one of several
  joiner console --cluster shop --region eu-west-1

  # the cluster kubectl points at, as it is now
  kubectl get pods,nodes,daemonsets,nodepools,nodeclaims,ec2nodeclasses,pdb,pv,pvc,storageclasses -A -o json >cluster.json
  joiner console -f cluster.json`

// New returns the command console.
func New() *cobra.Command {
	f := &consoleFlags{}
	command := &cobra.Command{
		Use: "console", Short: "Show a cluster in the browser", Long: consoleLong, Example: consoleExample,
		Args: cli.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return f.run(command) },
	}
	flags := command.Flags()
	f.RegisterInstead(command)
	f.RegisterCluster(command)
	flags.StringVar(&f.Now, "now", "", "with -f: the `TIME` it is, such as 2026-01-02T15:04:05Z (default: now)")
	flags.StringVar(&f.testenv, "testenv", "", "the `URL` of the AWS endpoint that make up prints, instead of AWS")
	flags.StringVar(&f.listen, "listen", "127.0.0.1:0", "`ADDRESS` to serve at; port 0 = a free one")
	flags.StringArrayVar(&f.hosts, "host", nil, "another `NAME` by which the server is reached; may be repeated")
	flags.DurationVar(&f.every, "every", 2*time.Second, "`TIME` between two checks, while a page is open")
	flags.DurationVar(&f.span, "span", 24*time.Hour, "the span of decisions and prices, a `TIME` such as 24h")
	cli.NoFiles(command, "now", "testenv", "listen", "host", "every", "span")
	return command
}

func (f *consoleFlags) run(command *cobra.Command) error {
	ctx, stop := cli.Context(command)
	defer stop()
	if _, err := net.ResolveTCPAddr("tcp", f.listen); err != nil {
		return fmt.Errorf("--listen: %w; write an address such as 127.0.0.1:8080", err)
	}
	from, err := f.source(ctx, command)
	if err != nil {
		return err
	}
	if _, files := from.(*dumpSource); files { // what a cluster lacks, such as a watcher, the page says
		if _, err := from.Read(ctx); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	address := listener.Addr().(*net.TCPAddr)
	if !address.IP.IsLoopback() {
		cli.Warn(command.ErrOrStderr(),
			[]string{"--listen: the page has no password, and whoever reaches this address sees the cluster"})
	}
	fmt.Fprintf(command.OutOrStdout(), "http://%s/\n", address)
	return serve(ctx, from, listener, console.Settings{Every: f.every, Span: f.span}, f.hosts)
}

// source is where the flags say that the cluster is.
func (f *consoleFlags) source(ctx context.Context, command *cobra.Command) (console.Source, error) {
	if f.Given() {
		return &dumpSource{from: &f.Flags, in: command.InOrStdin()}, nil
	}
	if f.testenv != "" {
		if err := useTestenv(f.testenv); err != nil {
			return nil, err
		}
	}
	return newAccountSource(ctx, &f.Flags)
}

// useTestenv has the SDK speak to the endpoint of make up, with the keys it takes, which are those of AWS's own
// examples. The environment is where the SDK looks.
func useTestenv(endpoint string) error {
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": endpoint, "AWS_REGION": "us-west-2", "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
		"AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
		"AWS_SESSION_TOKEN":     "", "AWS_PROFILE": "",
	} {
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("--testenv: %w", err)
		}
	}
	return nil
}

// serve shows the source at the listener until the context ends.
func serve(
	ctx context.Context, from console.Source, listener net.Listener, settings console.Settings, names []string,
) error {
	hosts, err := console.Hosts(listener.Addr().String(), names...)
	if err != nil {
		return err
	}
	feed := console.NewFeed(from, settings)
	handler, err := console.NewServer(feed, hosts)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := context.AfterFunc(ctx, func() { server.Close() })
	defer ended()
	go feed.Run(ctx)
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve at %s: %w", listener.Addr(), err)
	}
	return nil
}
