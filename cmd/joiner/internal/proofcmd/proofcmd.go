package proofcmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/installation"
	"github.com/joiner-sh/joiner/cmd/joiner/proof"
	"github.com/joiner-sh/joiner/cmd/joiner/proof/probes"
	"github.com/joiner-sh/joiner/shared/boot"
)

const proofLong = `Joiner is tested against a model of AWS. This command checks the assumptions of that model in your account, one after
another, and reports for each whether it passes, differs (AWS does what the other reading of its documentation says;
Joiner is tested under both) or fails.

Without --yes it makes only calls that create nothing: describes and dry runs. With --yes it creates queues, a table,
a bucket, roles and launch templates, and runs a few instances of the smallest type for some minutes. It first prints
the highest price of that, adds up the price during the run, and starts no probe that would exceed --ceiling.

All its resources have the tags joiner.sh/proof and joiner.sh/proof-owner, and are removed at the end, also after
Ctrl-C. If a run is killed, the next run, or --clean, removes what it left; instances terminate themselves after
twenty minutes in any case. Do not run two at once in one region: each removes the resources of the other.

The exchanges are written to a file, without account ids, keys, signatures, addresses and names of yours: read it, and
send it to us.

Exit status: 0 if all pass; 1 if one differs or could not be checked; 2 if one fails, or resources are left.`

// proofFlags are what the command line says.
type proofFlags struct {
	region, profile, cluster, subnet, owner, record, output string
	only, skip                                              []string
	list, clean, yes, policy                                bool
	ceiling                                                 float64
}

// New returns the command proof.
func New() *cobra.Command {
	f := &proofFlags{}
	command := &cobra.Command{
		Use: "proof", Short: "Ask your account whether AWS does what is assumed of it", Long: proofLong,
		Args: cli.NoArgs,
		Example: `  joiner proof --list                    # what each probe does, costs and takes
  joiner proof                           # dry runs only; says what the others would cost
  joiner proof --yes --cluster shop      # all of it
  joiner proof --yes --only sqs,ec2-run-instances-tags
  joiner proof --clean                   # remove what a killed run left`,
		RunE: func(command *cobra.Command, _ []string) error { return f.run(command) },
	}
	flags := command.Flags()
	flags.StringVar(&f.region, "region", "", "the `REGION` to ask (default: as for every AWS tool)")
	flags.StringVar(&f.cluster, "cluster", "",
		"`NAME` of an EKS cluster, for what is asked of one: it gets access entries for a minute")
	flags.StringVar(&f.subnet, "subnet", "", "`ID` of the subnet for instances (default: a default subnet)")
	flags.StringVar(&f.owner, "owner", "", "`TEXT` of the tag joiner.sh/proof-owner (default: your ARN)")
	flags.StringVar(&f.record, "record", "", "`FILE` for the exchanges (default: joiner-proof-RUN.jsonl; none: \"-\")")
	flags.StringSliceVar(&f.only, "only", nil, "`IDS` of probes, or services, that are asked alone")
	flags.StringSliceVar(&f.skip, "skip", nil, "`IDS` of probes, or services, that are not asked")
	flags.BoolVar(&f.list, "list", false, "say what each probe does, costs and takes, and ask nothing")
	flags.BoolVar(&f.policy, "policy", false, "print the IAM policy that the probes take, and ask nothing")
	flags.BoolVar(&f.clean, "clean", false, "remove what runs have left, and ask nothing else")
	flags.BoolVar(&f.yes, "yes", false, "make things, and run instances")
	flags.Float64Var(&f.ceiling, "ceiling", proof.DefaultCeiling, "`DOLLARS` that a run costs at most")
	cli.NoFiles(command, "region", "cluster", "subnet", "owner", "ceiling")
	installation.RegisterProfile(command, &f.profile)
	for _, name := range []string{"only", "skip"} {
		cli.Must(command.RegisterFlagCompletionFunc(name,
			func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				var ids []string
				for _, p := range probes.All() {
					ids = append(ids, p.ID)
				}
				return ids, cobra.ShellCompDirectiveNoFileComp
			}))
	}
	cli.OutputFlag(command, &f.output, "how to write what was found")
	command.MarkFlagsMutuallyExclusive("list", "policy", "clean", "yes")
	return command
}

func (f *proofFlags) run(command *cobra.Command) error {
	if f.ceiling <= 0 {
		return fmt.Errorf("--ceiling is %v; give the dollars a run may cost, such as 1", f.ceiling)
	}
	chosen, err := proof.Choose(probes.All(), f.only, f.skip)
	if err != nil {
		return err
	}
	out := command.OutOrStdout()
	switch {
	case f.list && f.output == cli.JSON:
		return cli.Written(proof.ListJSON(out, chosen))
	case f.list:
		return cli.Written(proof.List(out, chosen))
	case f.policy:
		return cli.Written(writePolicy(out, chosen))
	}
	ctx, stop := cli.Context(command)
	defer stop()
	config, err := installation.Config(ctx, f.region, f.profile)
	if err != nil {
		return err
	}
	o := proof.Options{
		Config: config, Owner: f.owner, Ceiling: f.ceiling, Yes: f.yes, Cluster: f.cluster, Subnet: f.subnet,
		Build: boot.Version(), Source: sourceOf(config),
		Run: proof.NewRun(time.Now()), Progress: func(text string) { fmt.Fprintln(command.ErrOrStderr(), text) },
	}
	if f.clean {
		return f.cleaned(ctx, out, o)
	}
	return f.runProbes(ctx, command, o, chosen)
}

// sourceOf says who answers: "aws" unless the configuration or the environment name an endpoint.
func sourceOf(config aws.Config) string {
	if config.BaseEndpoint != nil {
		return *config.BaseEndpoint
	}
	if endpoint := os.Getenv("AWS_ENDPOINT_URL"); endpoint != "" {
		return endpoint
	}
	return "aws"
}

func writePolicy(out io.Writer, chosen []proof.Probe) error {
	text, err := proof.Policy(proof.Statement{Sid: "JoinerProof", Effect: "Allow", Action: proof.Rights(chosen),
		Resource: []string{"*"}})
	if err != nil {
		return err
	}
	var doc any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(doc)
}

// cleaned removes what runs have left.
func (f *proofFlags) cleaned(ctx context.Context, out io.Writer, o proof.Options) error {
	e, err := proof.Open(ctx, o)
	if err != nil {
		return err
	}
	left, failed := e.Clean(ctx, o.Progress)
	for _, t := range left {
		fmt.Fprintf(out, "left: %s of run %s\n", t, t.Run)
	}
	if len(left) > 0 || len(failed) > 0 {
		return errors.Join(append(failed, fmt.Errorf("%d things are left; run joiner proof --clean again",
			len(left)))...)
	}
	_, err = fmt.Fprintf(out, "nothing with the tag %s is left in %s\n", proof.TagRun, o.Config.Region)
	return cli.Written(err)
}

// runProbes runs the probes and writes the page.
func (f *proofFlags) runProbes(
	ctx context.Context, command *cobra.Command, o proof.Options, chosen []proof.Probe,
) error {
	progress := command.ErrOrStderr()
	if f.yes {
		fmt.Fprintf(progress, "%d probes in %s, up to $%.4f of $%.2f; run %s\n", len(chosen), o.Config.Region,
			proof.Estimate(chosen), o.Ceiling, o.Run)
	} else {
		var paid []proof.Probe
		for _, p := range chosen {
			if p.Kind != proof.KindDryRuns {
				paid = append(paid, p)
			}
		}
		fmt.Fprintf(progress,
			"%d probes that make nothing, in %s; with --yes %d more, which make things and cost up to $%.4f together\n",
			len(chosen)-len(paid), o.Config.Region, len(paid), proof.Estimate(paid))
	}
	name := cmp.Or(f.record, "joiner-proof-"+o.Run+".jsonl")
	var file *os.File
	if name != "-" {
		var err error
		if file, err = os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
			return fmt.Errorf("--record: %w", err)
		}
		o.Record = file
	}
	report, err := proof.Run(ctx, o, chosen)
	if file != nil {
		err = errors.Join(err, file.Close())
	}
	if report == nil {
		return err
	}
	if err := cli.WriteWith(command, f.output, report, proof.Write, proof.WriteJSON); err != nil {
		return err
	}
	if file != nil {
		fmt.Fprintf(progress, "the exchanges are in %s: look at it, and send it back (docs/first-day.md)\n", name)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if status := proofStatus(report); status != 0 {
		return cli.ExitStatus(status)
	}
	return nil
}

// proofStatus is the exit status of a report.
func proofStatus(r *proof.Report) int {
	switch {
	case r.Count(proof.Fail) > 0 || len(r.Left) > 0 || len(r.Errors) > 0:
		return 2
	case r.Count(proof.Differs) > 0 || r.Count(proof.Unknown) > 0:
		return 1
	}
	return 0
}
