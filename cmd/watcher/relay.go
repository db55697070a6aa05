package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"k8s.io/client-go/rest"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/adapter/relay"
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/execute"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/shared/work"
)

// senders are the groups of those whose requests are carried out, by the unique id of their role.
type senders map[string]string

var (
	roleID = regexp.MustCompile(`^AROA[A-Z0-9]{4,124}$`)
	groups = []string{"joiner:functions", "joiner:interruption", "joiner:catalog", "joiner:disrupt"}
)

// UnmarshalText reads JSON: {"AROA…": "joiner:functions", …}.
func (s *senders) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	var read map[string]string
	if err := json.Unmarshal(text, &read); err != nil {
		return fmt.Errorf("not a JSON object of role ids and groups: %w", err)
	}
	for _, id := range slices.Sorted(maps.Keys(read)) {
		if !roleID.MatchString(id) {
			return fmt.Errorf(
				"%q is not the unique id of a role, such as AROA1234567890EXAMPLE; aws iam get-role shows it as RoleId",
				id)
		}
		if !slices.Contains(groups, read[id]) {
			return fmt.Errorf("%s: %q is not one of the groups %s", id, read[id], strings.Join(groups, ", "))
		}
	}
	*s = read
	return nil
}

// executor carries out what functions ask for; nil where they ask the API server themselves. It exits where nobody may
// ask.
func (s *settings) executor(ctx context.Context, kube *rest.Config, logger *slog.Logger) *execute.Executor {
	if s.RelayURL == "" {
		if len(s.RelaySenders) > 0 {
			fatal(logger, "read JOINER_RELAY_SENDERS", fmt.Errorf("it is set, and JOINER_RELAY_QUEUE_URL is not"))
		}
		return nil
	}
	if len(s.RelaySenders) == 0 {
		fatal(logger, "read JOINER_RELAY_SENDERS",
			fmt.Errorf("no role may send requests: set the role ids of the cluster's stack (output RelaySenders)"))
	}
	server, err := ekscluster.NewExecutor(kube)
	if err != nil {
		fatal(logger, "connect to the cluster", err)
	}
	config := awsChain(ctx)
	var carried execute.Server = server
	if crash := boot.CrashFrom(s.CrashFile); crash != nil {
		carried = watched{server, crash}
	}
	return &execute.Executor{
		Cluster: s.Cluster, Groups: s.RelaySenders, Server: carried, Now: time.Now,
		Pause:   func(ctx context.Context, d time.Duration) { wait(ctx, nil, d) },
		Inbox:   relay.NewInbox(sqs.NewFromConfig(config), s.RelayURL),
		Answers: relay.NewAnswers(dynamodb.NewFromConfig(config), s.Table, s3.NewFromConfig(config), s.Bucket),
		Log:     func(n execute.Note) { logCarried(logger, n) },
	}
}

// watched is a server at whose effects a test has the program die.
type watched struct {
	server execute.Server
	crash  work.EffectHook
}

// Do carries the request out between the two points.
func (w watched) Do(ctx context.Context, group string, r wire.RelayRequest) (answer wire.RelayAnswer, err error) {
	err = work.RunEffect(ctx, w.crash, strings.ToLower(r.Method), func() (err error) {
		answer, err = w.server.Do(ctx, group, r)
		return err
	})
	return answer, err
}

// logCarried writes one line for a request. What is dropped or refused is a warning: a count of those should stay at
// nothing.
func logCarried(logger *slog.Logger, n execute.Note) {
	logger = logger.With("relay", n.What)
	if n.Method != "" {
		logger = logger.With("method", n.Method, "path", n.Path, "group", n.Group)
	}
	if n.Sender != "" {
		logger = logger.With("sender", n.Sender, "ageMillis", n.Age.Milliseconds(), "millis", n.Took.Milliseconds())
	}
	switch {
	case n.What == "carried" && n.Err == nil:
		logger.Debug("carried out", "status", n.Status)
	case n.Err != nil:
		logger.Warn("not carried out or not answered", "status", n.Status, "reason", n.Reason, "error", n.Err.Error())
	default:
		logger.Warn("not carried out")
	}
}
