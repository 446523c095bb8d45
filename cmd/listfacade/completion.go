package main

import (
	"github.com/spf13/cobra"
)

// completionCommand returns the command that prints a completion script. cobra's own command would also print a script
// for PowerShell, but there is no build for Windows.
func completionCommand() *cobra.Command {
	command := &cobra.Command{
		Use: "completion bash|zsh|fish", Short: "Print the completion script of a shell",
		Long: "Print the completion script of a shell. To load it:\n\n" +
			"  bash   source <(listfacade completion bash)\n" +
			"  zsh    source <(listfacade completion zsh)\n" +
			"  fish   listfacade completion fish | source",
		ValidArgs: []string{"bash", "zsh", "fish"}, Args: cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			root, out := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			default:
				return root.GenFishCompletion(out, true)
			}
		},
	}
	command.SetUsageFunc(usageOf)
	return command
}
