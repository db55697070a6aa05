package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/core/pack"
)

// sourceFlags say where to read a cluster from, and of which time.
type sourceFlags struct {
	planFlags
	policies policyFlags
}

const sourceLong = `The cluster is read from files (-f), as "joiner plan provision" takes them. Files say what the cluster shows; what was launched,
failed or put off lately is known to an installation only.

Times in JSON are Unix seconds, prices millionths of a dollar per hour.`

func (f *sourceFlags) register(command *cobra.Command) {
	f.asSeen = true
	flags := command.Flags()
	flags.StringArrayVarP(&f.files, "filename", "f", nil, "`FILE`, folder, or - for standard input; may be given again")
	flags.StringVar(&f.catalog, "catalog", "", "with -f: JSON `FILE` of what can be bought (default: the catalogue built in)")
	flags.StringVar(&f.now, "at", "", "the `TIME` that is asked about, such as 2026-01-02T15:04:05Z or -2h (default: now)")
	choice(command, &f.output, "output", "o", outputTable, []string{outputTable, outputJSON}, "how to write the answer")
	must(command.MarkFlagFilename("filename", "json", "yaml", "yml", "gz"))
	must(command.MarkFlagFilename("catalog", "json", "gz"))
	must(command.RegisterFlagCompletionFunc("at", cobra.NoFileCompletions))
	f.policies.register(command)
}

// when returns the time that is asked about: --at, of which a negative duration counts from now.
func when(flag string, now time.Time) (time.Time, error) {
	if flag == "" {
		return now, nil
	}
	if before, isDuration := strings.CutPrefix(flag, "-"); isDuration {
		d, err := duration(before)
		if err != nil {
			return now, fmt.Errorf("--at: %q: not a time; write one such as 2026-01-02T15:04:05Z or -2h", flag)
		}
		return now.Add(-d), nil
	}
	at, err := time.Parse(time.RFC3339, flag)
	if err != nil {
		return now, fmt.Errorf("--at: %q: not a time; write one such as 2026-01-02T15:04:05Z or -2h", flag)
	}
	return at, nil
}

// duration reads 90m, 36h, or 7d.
func duration(text string) (time.Duration, error) {
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		var n int
		if _, err := fmt.Sscanf(days, "%d", &n); err != nil || fmt.Sprint(n) != days || n < 0 {
			return 0, fmt.Errorf("%q: not a duration; write one such as 7d or 36h", text)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q: not a duration; write one such as 7d or 36h", text)
	}
	return d, nil
}

// scene reads the cluster.
func (f *sourceFlags) scene(command *cobra.Command) (*explain.Scene, error) {
	at, err := when(f.now, time.Now())
	if err != nil {
		return nil, err
	}
	if len(f.files) == 0 {
		return nil, errors.New("give the cluster with -f")
	}
	return f.ofFiles(command, at)
}

// ofFiles reads the cluster from files.
func (f *sourceFlags) ofFiles(command *cobra.Command, at time.Time) (*explain.Scene, error) {
	cluster, err := f.policies.cluster(command, &f.planFlags, at)
	if err != nil {
		return nil, err
	}
	offered, err := f.policies.goods(&f.planFlags, cluster, at)
	if err != nil {
		return nil, err
	}
	warn(command.ErrOrStderr(), cluster.Warnings, offered.warnings)
	claims, _ := cluster.Ledger()
	catalogs, problems := offered.catalogs(cluster.Snapshot, claims)
	return &explain.Scene{Ask: pack.Input{
		Snapshot: cluster.Snapshot, Catalogs: catalogs, ClassProblems: problems, Claims: claims,
		Usage: usage(cluster.Snapshot, claims, catalogs), NowUnix: at.Unix(),
		IgnorePreferences: f.policies.preferences == ignore, BestEffortMinValues: f.policies.minValues == bestEffort,
	}}, nil
}

// write writes an answer as the command line asks for.
func write[A any](command *cobra.Command, output string, answer A, table func(io.Writer, A) error) error {
	err := error(nil)
	if output == outputJSON {
		err = show.Indented(command.OutOrStdout(), answer)
	} else {
		err = table(command.OutOrStdout(), answer)
	}
	if err != nil {
		return unwritten{err}
	}
	return nil
}
