package cli

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// Contexts has shells propose contexts of the kubeconfig for the flag --context.
func Contexts(command *cobra.Command) {
	Must(command.RegisterFlagCompletionFunc("context",
		func(command *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			config, err := kubeconfig(command).ToRawKubeConfigLoader().RawConfig()
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return slices.Sorted(maps.Keys(config.Contexts)), cobra.ShellCompDirectiveNoFileComp
		}))
}

// kubeconfig is the one that the flags of a command name.
func kubeconfig(command *cobra.Command) *genericclioptions.ConfigFlags {
	file, context := "", ""
	if flag := command.Flags().Lookup("kubeconfig"); flag != nil {
		file = flag.Value.String()
	}
	if flag := command.Flags().Lookup("context"); flag != nil {
		context = flag.Value.String()
	}
	return &genericclioptions.ConfigFlags{KubeConfig: &file, Context: &context}
}
