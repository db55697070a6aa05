package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/spf13/pflag"
)

// newComputer returns an instance's system with the programs that scripts of this project's pages use. parameter
// reads one of the Parameter Store with the rights of the instance's role.
func newComputer(i Instance, parameter func(ctx context.Context, i Instance, name string) (string, error)) *computer {
	c := &computer{files: map[string][]byte{}}
	c.programs = map[string]command{
		"cat": c.cat, "curl": metadata{i}.curl,
		"hostname": func(_ context.Context, p programIO, _ []string) uint8 {
			fmt.Fprintln(p.stdout, i.PrivateDNSName)
			return 0
		},
		"aws": func(ctx context.Context, p programIO, args []string) uint8 {
			name, err := parameterName(args)
			if err != nil {
				return p.fail("aws", err)
			}
			value, err := parameter(ctx, i, name)
			if err != nil {
				return p.fail("aws", err)
			}
			fmt.Fprintln(p.stdout, value)
			return 0
		},
	}
	return c
}

func (c *computer) cat(_ context.Context, p programIO, args []string) uint8 {
	if len(args) == 0 {
		if _, err := io.Copy(p.stdout, p.stdin); err != nil {
			return p.fail("cat", err)
		}
	}
	for _, name := range args {
		text, there := c.files[name]
		if !there {
			return p.fail("cat", fmt.Errorf("%s: No such file or directory", name))
		}
		_, _ = p.stdout.Write(text)
	}
	return 0
}

// parameterName reads the one call of the AWS CLI there is: the value of a parameter, as text.
func parameterName(args []string) (string, error) {
	set := pflag.NewFlagSet("aws", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	name, query, output := set.String("name", "", ""), set.String("query", "", ""), set.String("output", "json", "")
	decrypts := set.Bool("with-decryption", false, "")
	set.String("region", "", "")
	err := set.Parse(args)
	switch {
	case err != nil:
		return "", err
	case strings.Join(set.Args(), " ") != "ssm get-parameter" || *query != "Parameter.Value" || *output != "text":
		return "", fmt.Errorf("%q is not modeled: there is ssm get-parameter --query Parameter.Value --output text",
			args)
	case !*decrypts:
		return "", errors.New("a SecureString is printed encrypted without --with-decryption")
	}
	return *name, nil
}

// metadata is the instance metadata service, which answers whoever has a session token.
type metadata struct{ of Instance }

const metadataSession = "AQAEAsession"

// ServeHTTP implements http.Handler. Source: EC2 user guide, "Use the Instance Metadata Service".
func (m metadata) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/latest/api/token" {
		switch {
		case r.Method != http.MethodPut:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case r.Header.Get("X-aws-ec2-metadata-token-ttl-seconds") == "":
			w.WriteHeader(http.StatusBadRequest)
		default:
			_, _ = io.WriteString(w, metadataSession)
		}
		return
	}
	if r.Header.Get("X-aws-ec2-metadata-token") != metadataSession {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	value, there := map[string]string{
		"instance-id": m.of.ID, "instance-type": m.of.Type,
		"local-ipv4": m.of.PrivateIP, "local-hostname": m.of.PrivateDNSName,
		"placement/availability-zone": m.of.Zone, "placement/region": m.of.Region,
	}[strings.TrimPrefix(r.URL.Path, "/latest/meta-data/")]
	if !there {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	_, _ = io.WriteString(w, value)
}

// curl asks the metadata service, and nothing else.
func (m metadata) curl(ctx context.Context, p programIO, args []string) uint8 {
	set := pflag.NewFlagSet("curl", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	method, headers := set.StringP("request", "X", http.MethodGet, ""), set.StringArrayP("header", "H", nil, "")
	fails := set.BoolP("fail", "f", false, "")
	set.BoolP("silent", "s", false, "")
	if err := set.Parse(args); err != nil || set.NArg() != 1 {
		return p.fail("curl", fmt.Errorf("%q: %v; one URL is asked here", args, err))
	}
	request, err := http.NewRequestWithContext(ctx, *method, set.Arg(0), nil)
	if err != nil || request.URL.Host != "169.254.169.254" {
		fmt.Fprintf(p.stderr, "curl: (7) Failed to connect to %s\n", set.Arg(0))
		return 7
	}
	for _, header := range *headers {
		name, value, _ := strings.Cut(header, ":")
		request.Header.Set(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	answer := httptest.NewRecorder()
	m.ServeHTTP(answer, request)
	if answer.Code >= 400 && *fails {
		fmt.Fprintf(p.stderr, "curl: (22) The requested URL returned error: %d\n", answer.Code)
		return 22
	}
	_, _ = io.Copy(p.stdout, answer.Body)
	return 0
}
