"""What `auto_complete_config` may do to a config. Changes are made to a dict of the config's JSON form."""

import copy


class ModelConfig:
    def __init__(self, config):
        self._config = config

    @property
    def _model_config(self):
        return self._config

    def as_dict(self):
        """A copy: changes of it change nothing."""
        return copy.deepcopy(self._config)

    def set_max_batch_size(self, max_batch_size):
        configured = self._config.get("max_batch_size", 0)
        if configured > max_batch_size:
            raise ValueError(
                "configuration specified max_batch_size %d, but in auto-complete-config function for model '%s' specified max_batch_size %d"
                % (configured, self._name(), max_batch_size)
            )
        self._config["max_batch_size"] = max_batch_size

    def set_dynamic_batching(self):
        for choice in ("sequence_batching", "ensemble_scheduling"):
            if choice in self._config:
                raise ValueError(
                    "Configuration specified scheduling_choice as '%s', but auto-complete-config function for model '%s' tries to set "
                    "scheduling_choice as 'dynamic_batching'" % (choice, self._name())
                )
        self._config.setdefault("dynamic_batching", {})

    def add_input(self, input):
        self._add("input", input, ("name", "data_type", "dims", "optional"))

    def add_output(self, output):
        self._add("output", output, ("name", "data_type", "dims"))

    def set_model_transaction_policy(self, transaction_policy_dict):
        if any(key != "decoupled" for key in transaction_policy_dict):
            raise ValueError(
                "model transaction property in auto-complete-config function for model '%s' contains property other than 'decoupled'."
                % self._name()
            )
        if "decoupled" not in transaction_policy_dict:
            return
        wanted = transaction_policy_dict["decoupled"]
        policy = self._config.get("model_transaction_policy")
        if policy is not None and policy.get("decoupled", False) != wanted:
            raise ValueError(
                "trying to change decoupled property in auto-complete-config for model '%s', which is already set to '%s'."
                % (self._name(), policy.get("decoupled", False))
            )
        self._config["model_transaction_policy"] = {"decoupled": wanted}

    def _name(self):
        return self._config.get("name", "")

    def _add(self, kind, given, allowed):
        model = self._name()
        for key in ("name", "data_type", "dims"):
            if key not in given:
                subject = kind if key == "name" else "%s '%s'" % (kind, given["name"])
                raise ValueError("%s in auto-complete-config function for model '%s' is missing '%s' property." % (subject, model, key))
        if any(key not in allowed for key in given):
            quoted = ["'%s'" % key for key in allowed]
            listed = "%s and %s" % (", ".join(quoted[:-1]), quoted[-1])
            raise ValueError(
                "%s '%s' in auto-complete-config function for model '%s' contains property other than %s."
                % (kind, given["name"], model, listed)
            )
        for tensor in self._config.setdefault(kind, []):
            if tensor["name"] == given["name"]:
                _merge(tensor, given, kind, model)
                return
        self._config[kind].append(dict(given, dims=list(given["dims"])))


def _merge(tensor, given, kind, model):
    name = given["name"]
    configured = tensor.get("data_type", "TYPE_INVALID")
    if configured not in ("TYPE_INVALID", given["data_type"]):
        raise ValueError(
            "unable to load model '%s', configuration expects datatype %s for %s '%s', model provides %s"
            % (model, configured, kind, name, given["data_type"])
        )
    dims = tensor.get("dims", [])
    if dims and list(dims) != list(given["dims"]):
        raise ValueError(
            "model '%s', tensor '%s': the model expects dims %s but the model configuration specifies dims %s"
            % (model, name, list(given["dims"]), list(dims))
        )
    if "optional" in given and tensor.get("optional", False) != given["optional"]:
        raise ValueError(
            "model '%s', tensor '%s': the model expects optional %s but the model configuration specifies optional %s"
            % (model, name, given["optional"], tensor.get("optional", False))
        )
    tensor["data_type"] = given["data_type"]
    tensor["dims"] = list(given["dims"])
    if "optional" in given:
        tensor["optional"] = given["optional"]
