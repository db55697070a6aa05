package cli

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/shared/boot"
)

// version is what is written of the program as JSON.
type version struct {
	Version  string `json:"version"`
	Platform string `json:"platform"`
	Go       string `json:"goVersion"`
}

func versionOf() version {
	return version{boot.Version(), runtime.GOOS + "/" + runtime.GOARCH, runtime.Version()}
}

// VersionText is the version in a line.
func VersionText() string {
	v := versionOf()
	return fmt.Sprintf("joiner %s %s %s", v.Version, v.Platform, v.Go)
}

// NewVersion returns the command version.
func NewVersion() *cobra.Command {
	output := ""
	command := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  NoArgs,
		Example: `  joiner version
  joiner version -o json`,
		RunE: func(command *cobra.Command, _ []string) error {
			return Write(command, output, versionOf(), func(out io.Writer, _ version) error {
				return Say(out, "%s\n", VersionText())
			})
		},
	}
	OutputFlag(command, &output, "output format")
	return command
}
