package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/doctor"
	"github.com/joiner-sh/joiner/cmd/joiner/preflight"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/model"
)

// cdkFile is where a checkout of the project keeps the options of its deployment.
const cdkFile = "infra/cdk/cdk.json"

var preflightLong = `Checks, before anything is deployed, the account, the region and the cluster for what would make a deployment or a
launch fail, and names the command that fixes it: CDK's bootstrap stack, whether the region is enabled, stacks that
failed, names that are taken, quotas of Lambda's concurrency and of vCPUs, the service-linked role for spot, the
policy of a KMS key, and of the cluster its version, authentication mode, endpoint access, add-on for Pod Identity,
subnets and security groups, the role of nodes, and remains of Karpenter.

It reads the options of the deployment from ` + cdkFile + `, if it exists, and -c KEY=VALUE as
cdk deploy takes them. After the deployment joiner doctor checks what still
matters of this.

It uses your own permissions and writes nothing. What you may not read is reported, and the other checks go on. In AWS
it needs
  ` + wrapped(preflight.Permissions, 118) + `
and in the cluster, through --kubeconfig or your access entry, listing
  ` + wrapped(preflight.ClusterPermissions, 118) + `.

Exit status: 0 if all checks pass; 1 if something needs attention; 2 if something would fail, or nothing can be
read.`

// wrapped joins words with commas into lines of at most so many characters.
func wrapped(words []string, width int) string {
	var out strings.Builder
	column := 0
	for i, word := range words {
		if i > 0 {
			out.WriteString(",")
			if column++; column+len(word) > width-4 {
				out.WriteString("\n  ")
				column = 0
			} else {
				out.WriteString(" ")
				column++
			}
		}
		out.WriteString(word)
		column += len(word)
	}
	return out.String()
}

// preflightFlags are what the command line says.
type preflightFlags struct {
	region, file string
	options      []string
	reach        adoptFlags // how the API server is reached
	output       string
}

func newPreflight() *cobra.Command {
	f := &preflightFlags{}
	command := &cobra.Command{
		Use: "preflight CLUSTER", Short: "Check what would make a deployment fail, before it starts, and show how to fix it", Long: preflightLong, Args: cobra.ExactArgs(1),
		Example: `  joiner preflight shop
  joiner preflight shop -c relay=true -c kmsKeyArn=arn:aws:kms:eu-central-1:111111111111:key/ID
  joiner preflight shop --kubeconfig ~/.kube/config -o json`,
		RunE: func(command *cobra.Command, args []string) error { return f.run(command, args[0]) },
	}
	command.ValidArgsFunction = cobra.NoFileCompletions
	flags := command.Flags()
	flags.StringVar(&f.region, "region", "", "the `REGION` of the cluster (default: as for every AWS tool)")
	flags.StringArrayVarP(&f.options, "option", "c", nil, "an option of the deployment, `KEY=VALUE`; may be repeated")
	flags.StringVar(&f.file, "cdk-json", "", "`FILE` with the options of the deployment (default: "+cdkFile+", if it exists)")
	f.reach.registerReach(command)
	choice(command, &f.output, "output", "o", outputTable, []string{outputTable, outputJSON}, "output format")
	must(command.RegisterFlagCompletionFunc("region", cobra.NoFileCompletions))
	must(command.RegisterFlagCompletionFunc("option", cobra.NoFileCompletions))
	must(command.MarkFlagFilename("cdk-json"))
	return command
}

func (f *preflightFlags) run(command *cobra.Command, cluster string) error {
	if err := f.reach.check(); err != nil {
		return err
	}
	file := f.file
	if _, err := os.Stat(cdkFile); file == "" && err == nil {
		file = cdkFile
	}
	plan, err := preflight.Parse(cluster, file, f.options)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	config, err := awsConfig(ctx, f.region)
	if errors.Is(err, errNoRegion) {
		return errors.New("--region: " + err.Error())
	}
	if err != nil {
		return err
	}
	f.reach.own = true
	sites := adoptClients{flags: &f.reach, config: config}
	site, err := preflight.New(ctx, config, plan, func(_ context.Context, reg model.Registration) (*ekscluster.Client, error) {
		return sites.cluster(sites.rights(reg), reg)
	})
	if err != nil {
		return err
	}
	return printFindings(command, doctor.Run(ctx, site.Checks(), doctor.Settings{}), f.output)
}

// printFindings writes findings, and is the exit status that they have.
func printFindings(command *cobra.Command, findings []doctor.Finding, output string) error {
	write := doctor.Write
	if output == outputJSON {
		write = doctor.WriteJSON
	}
	if err := write(command.OutOrStdout(), findings); err != nil {
		return writeError{err}
	}
	if status := doctor.ExitStatus(findings); status != 0 {
		return verdict{status}
	}
	return nil
}
