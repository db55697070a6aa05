package userdata

import (
	"encoding/base64"
	"strings"

	"github.com/joiner-sh/joiner/shared/fault"
)

// renderAL2 returns the user's parts and then a script that calls the image's bootstrap.sh. cloud-init runs them in
// order. Source of the arguments: awslabs/amazon-eks-ami, templates/al2/runtime/bootstrap.sh; it takes them separated,
// not with =.
func renderAL2(in Input) ([]byte, error) {
	if err := in.needed(false); err != nil {
		return nil, err
	}
	parts, err := customParts(in.Class)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		if p.is(nodeConfigType) {
			return nil, fault.New(fault.Invalid, "InvalidUserData",
				"spec.userData of EC2NodeClass %s holds a NodeConfig, which AL2 does not read; give a shell script, or use AL2023", in.Class.Name)
		}
	}
	call, err := bootstrapCall(in)
	if err != nil {
		return nil, err
	}
	script := "#!/bin/bash\nset -ex\nexec > >(tee -a /var/log/user-data.log) 2>&1\n" + call + "\n"
	return writeParts(append(parts, newPart(shellType, script))), nil
}

func bootstrapCall(in Input) (string, error) {
	k, err := readKubelet(in)
	if err != nil {
		return "", err
	}
	extra, err := k.flags(in)
	if err != nil {
		return "", err
	}
	type argument struct{ name, value string }
	arguments := []argument{
		{"", in.Cluster},
		{"--apiserver-endpoint", in.Endpoint},
		{"--b64-cluster-ca", base64.StdEncoding.EncodeToString(in.CA)},
	}
	if in.ipv6() {
		arguments = append(arguments, argument{"--ip-family", "ipv6"}, argument{"--service-ipv6-cidr", in.ServiceCIDR})
	}
	arguments = append(arguments, argument{"--dns-cluster-ip", k.dns()}, argument{"--use-max-pods", "false"})
	if in.Class.InstanceStorePolicy == raid0 {
		arguments = append(arguments, argument{"--local-disks", "raid0"})
	}
	words := []string{"/etc/eks/bootstrap.sh"}
	for _, a := range arguments {
		if a.value == "" {
			continue
		}
		if err := in.checkPlain("argument "+a.name+" of bootstrap.sh,", a.value); err != nil {
			return "", err
		}
		if a.name != "" {
			words = append(words, a.name)
		}
		words = append(words, "'"+a.value+"'")
	}
	return strings.Join(append(words, "--kubelet-extra-args", "'"+extra+"'"), " "), nil
}
