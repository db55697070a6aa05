package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/show"
)

// helpColumns is how wide help is at most.
const helpColumns = 100

// plugin is how kubectl finds a program that it runs as "kubectl joiner".
const plugin = "kubectl-"

// Prepare has the help of all commands below the root fit the terminal, and name the program as it was called: a
// program kubectl-joiner is "kubectl joiner".
func Prepare(root *cobra.Command, program string) {
	called := strings.TrimSuffix(filepath.Base(program), ".exe")
	display := root.Name()
	if name, is := strings.CutPrefix(called, plugin); is {
		display = "kubectl " + name
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: display}
	}
	cobra.AddTemplateFunc("flagUsages", func(flags interface{ FlagUsagesWrapped(int) string }) string {
		return flags.FlagUsagesWrapped(min(show.Width(os.Stdout, helpColumns), helpColumns))
	})
	cobra.AddTemplateFunc("asCalled", func(text string) string { return asCalled(root, display, text) })
	cobra.AddTemplateFunc("flow", func(text string) string {
		return Flow(text, min(show.Width(os.Stdout, helpColumns), helpColumns))
	})
	root.SetUsageTemplate(strings.NewReplacer(
		".LocalFlags.FlagUsages", "flagUsages .LocalFlags",
		".InheritedFlags.FlagUsages", "flagUsages .InheritedFlags",
		"{{.Example}}", "{{asCalled .Example}}",
	).Replace(root.UsageTemplate()))
	root.SetHelpTemplate(`{{with (or .Long .Short)}}{{. | asCalled | flow | trimTrailingWhitespaces}}

{{end}}{{if or .Runnable .HasSubCommands}}{{.UsageString}}{{end}}`)
}

// asCalled writes commands of the program as it was called.
func asCalled(root *cobra.Command, display, text string) string {
	if display == root.Name() {
		return text
	}
	for _, command := range root.Commands() {
		name := root.Name() + " " + command.Name()
		text = strings.ReplaceAll(text, name, display+strings.TrimPrefix(name, root.Name()))
	}
	return text
}

// Flow breaks the lines of paragraphs anew, so that none is longer than columns. Lines that begin with a space stay as
// they are.
func Flow(text string, columns int) string {
	var out, line strings.Builder
	flush := func() {
		if line.Len() > 0 {
			out.WriteString(line.String() + "\n")
			line.Reset()
		}
	}
	for _, given := range strings.Split(text, "\n") {
		if given == "" || strings.HasPrefix(given, " ") {
			flush()
			out.WriteString(given + "\n")
			continue
		}
		for _, word := range strings.Fields(given) {
			if line.Len() > 0 && line.Len()+1+len(word) > columns {
				flush()
			}
			if line.Len() > 0 {
				line.WriteByte(' ')
			}
			line.WriteString(word)
		}
	}
	flush()
	return out.String()
}
