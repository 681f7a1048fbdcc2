#include "host/usage.h"

#include <sstream>

#include "host/command_options.h"

namespace tenon::host {

std::string describe_usage() {
  std::ostringstream text;
  text
      << "Usage: host --config FILE [--set KEY=VALUE]... [--check | --dry-run] [--limit-batches N]\n"
         "            [--processes N] [--resume auto|latest|best|PATH] [--restarts N]\n"
         "            [--plugin-dir DIR]...\n"
         "       host evaluate --config FILE [--checkpoint PATH] [--data NAME] [--json] [--set KEY=VALUE]...\n"
         "                     [--plugin-dir DIR]...\n"
         "       host predict --config FILE --data NAME --output FILE [--checkpoint PATH] [--outputs NAME,...]\n"
         "                    [--fields NAME,...] [--apply [OUTPUT=]FUNCTION]... [--set KEY=VALUE]...\n"
         "                    [--plugin-dir DIR]...\n"
         "       host overfit --config FILE [--samples N] [--steps N] [--threshold LOSS] [--set KEY=VALUE]...\n"
         "                    [--plugin-dir DIR]...\n"
         "       host lr-find --config FILE [--from LR] [--to LR] [--steps N] [--json] [--set KEY=VALUE]...\n"
         "                    [--plugin-dir DIR]...\n"
         "       host verify-resume --config FILE [--processes N] [--steps N] [--kills N] [--seed N] [--json]\n"
         "                          [--set KEY=VALUE]... [--plugin-dir DIR]...\n"
         "       host data --config FILE [--set KEY=VALUE]... [--data NAME] [--seconds N] [--step-ms N]\n"
         "                 [--sheet FILE.html] [--samples N] [--json] [--plugin-dir DIR]...\n"
         "       host plugins [--json] [--load] [--plugin-dir DIR]...\n"
         "       host describe ID [--ports] [--json | --markdown] [--load] [--plugin-dir DIR]...\n"
         "       host note FILE [--objcopy PROGRAM]\n"
         "       host validate FILE [--json] [--params KIND.ID=TABLE]... [--component KIND.ID] [--check NAME]\n"
         "                          [--seed N] [--timeout SECONDS]\n"
         "       host pack --config FILE --data NAME --out DIR [--shard-bytes SIZE] [--shard-samples N] [--shuffle]\n"
         "                 [--set KEY=VALUE]... [--plugin-dir DIR]...\n"
         "       host checkpoint show PATH [--json]\n"
         "       host checkpoint verify PATH [--json]\n"
         "       host checkpoint diff A B [--json]\n"
         "       host export --config FILE --output FILE [--checkpoint PATH] [--dtype DTYPE] [--data NAME]\n"
         "                   [--set KEY=VALUE]... [--plugin-dir DIR]...\n\n"
         "Trains the model of the run file with the components of plugins; computes the figures of trained weights, "
         "or\n"
         "writes what they give for each sample; learns a few samples by heart, or says why it cannot; looks for the\n"
         "learning rates at which the loss falls; kills a run in short and goes on with it, and says whether its bits "
         "stay the\n"
         "same; shows what a dataset of it gives, and times the loader alone;\n"
         "lists the plugins that are found, and why others are refused; describes a component with its parameters;\n"
         "writes into a plugin's file what the two read there; tries a plugin before a run trusts it, each check in a\n"
         "process of its own; writes a dataset of the run file as tar files, which the dataset tar_shards reads; "
         "shows\n"
         "what is in a checkpoint, a run's newest one or a safetensors file, whether it is what was written, and how "
         "two\n"
         "of them differ; writes trained weights, or the model with them, for Python.\n\n"
      << make_options() << "\n"
      << make_evaluate_options() << "\n"
      << make_predict_options() << "\n"
      << make_overfit_options() << "\n"
      << make_lr_find_options() << "\n"
      << make_verify_resume_options() << "\n"
      << make_data_options() << "\n"
      << make_show_options() << "\n"
      << make_validate_options() << "\n"
      << make_pack_options() << "\n"
      << make_checkpoint_options() << "\n"
      << make_export_options()
      << "\nPlugins are looked for in --plugin-dir, [plugins] paths of the run file, $TENON_PLUGIN_PATH,\n"
         "~/.local/lib/tenon/plugins, and lib/tenon/plugins or plugins beside the folder of this program.\n\n"
         "Exit codes: 0 done, 1 internal error, 2 configuration, 3 plugin, 4 data, 5 checkpoint, 6 another process "
         "lost,\n"
         "7 non-finite loss, 8 overfit did not reach its threshold, 9 checkpoint diff or verify-resume found a "
         "difference,\n128+n signal n.\n";
  return text.str();
}

}  // namespace tenon::host
