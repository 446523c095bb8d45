package timeline

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/listfacade/listfacade/internal/journal"
)

// DiffCommand returns the command "listfacade diff".
func DiffCommand() *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:   "diff --journal-dir DIR --from MOMENT [--to MOMENT] [RESOURCE[/NAME]]",
		Short: "Show from a journal which objects were created, changed and deleted between two moments",
		Long: "Show which objects were created, changed and deleted between two moments, and which of their fields\n" +
			"differ. Only the files of the journal are read. Resources are named as in kubectl. If no resource is\n" +
			"named, all resources are compared. A moment is\n" + journal.MomentForms + ".",
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.diff(cmd.Context(), args, time.Now(), cmd.OutOrStdout())
		},
	}
	o.addTo(command)
	flags := command.Flags()
	flags.StringVarP(&o.namespace, "namespace", "n", "",
		"Namespace of the objects. If empty, objects of all namespaces are compared.")
	flags.StringVarP(&o.selector, "selector", "l", "",
		"Label selector. An object is shown if it matches at one of the moments. If empty, all objects are shown.")
	_ = command.MarkFlagRequired("from") // the flag exists
	return command
}

// LogCommand returns the command "listfacade log".
func LogCommand() *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:   "log --journal-dir DIR [--from MOMENT] [--to MOMENT] RESOURCE/NAME",
		Short: "Show from a journal how an object changed, when, and by which client",
		Long: "Show each change of an object: when the facade received it, the fields that differ, and the client that\n" +
			"wrote them according to metadata.managedFields. Only the files of the journal are read. A moment is\n" +
			journal.MomentForms + ".",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.log(cmd.Context(), args, time.Now(), cmd.OutOrStdout())
		},
	}
	o.addTo(command)
	command.Flags().StringVarP(&o.namespace, "namespace", "n", "default",
		"Namespace of the object, if its resource has namespaces.")
	return command
}

func (o *options) addTo(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&o.dir, "journal-dir", "", "Path of the `directory` of the journal.")
	flags.StringVar(&o.from, "from", "",
		"Beginning of the period, as a `moment`. diff requires it; for log, the default is the beginning of the journal.")
	flags.StringVar(&o.to, "to", "now", "End of the period, as a `moment`.")
	flags.StringVarP(&o.output, "output", "o", "table",
		"Format of the output: table, diff (unified differences of YAML), json or yaml.")
	_ = command.MarkFlagRequired("journal-dir") // the flag exists
	command.SilenceUsage, command.SilenceErrors = true, true
	command.SetUsageFunc(func(cmd *cobra.Command) error { // otherwise cobra uses the parent command's function
		_, err := fmt.Fprintf(cmd.OutOrStderr(), "Usage:\n  %s\n\nFlags:\n%s", cmd.UseLine(),
			cmd.Flags().FlagUsagesWrapped(120))
		return err
	})
}
