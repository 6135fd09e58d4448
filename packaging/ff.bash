# Completion of ff, made by 'ff help --completion'; not to be edited.
_ff()
{
    local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]}
    local words='' options=''
    case "$COMP_CWORD ${COMP_WORDS[1]} ${COMP_WORDS[2]}" in
    '1 '*) words=' serve submit ls show explain events cancel replay flow lanes workers worker fsck doctor bench gc migrate version help' options=' --store --server --json --help' ;;
    *' serve '*) options=' --listen --token-file --tls-cert --tls-key --host --log --log-level --grace-ms --body-bytes-max --connections-max --bodies-bytes-max --sse-comment-ms --retention-ms --event-retention-ms --event-count-max --event-renewals --instance-tag-name --input-bytes-max --result-bytes-max --flow-nodes-max --flow-edges-max --migrate --config --store --server --json --help' ;;
    *' submit '*) options=' --kind --lane --namespace --input --priority --tag --key --id --delay-ms --delay-until-ms --deadline-ms --deadline-at-ms --policy --bulk --capability --wait --wait-ms --store --server --json --help' ;;
    *' ls '*) options=' --namespace --lane --kind --state --flow --worker --tag --created-after-ms --created-before-ms --limit --cursor --store --server --json --help' ;;
    *' show '*) options=' --attempts --events --result --limit --cursor --wait --wait-ms --store --server --json --help' ;;
    *' explain '*) options=' --store --server --json --help' ;;
    *' events '*) options=' --follow --after --kinds --namespace --instance-tag --partition --flow --execution --limit --store --server --json --help' ;;
    *' cancel '*) options=' --reason --namespace --lane --kind --state --flow --worker --tag --created-after-ms --created-before-ms --all --store --server --json --help' ;;
    *' replay '*) options=' --reason --input --deadline-ms --generation --scope --reopen-downstream --namespace --lane --kind --state --flow --worker --tag --created-after-ms --created-before-ms --all --store --server --json --help' ;;
    '2 flow '*) words=' create grow show ls cancel' ;;
    *' flow create'*) options=' --key --namespace --store --server --json --help' ;;
    *' flow grow'*) options=' --revision --store --server --json --help' ;;
    *' flow show'*) options=' --dot --all --wait --wait-ms --store --server --json --help' ;;
    *' flow ls'*) options=' --namespace --kind --state --limit --cursor --store --server --json --help' ;;
    *' flow cancel'*) options=' --policy --reason --store --server --json --help' ;;
    *' lanes '*) options=' --reason --store --server --json --help' ;;
    *' workers '*) options=' --store --server --json --help' ;;
    *' worker '*) options=' --lane --kind --namespace --capability --concurrency --ahead --lease-ttl-ms --grace-ms --kill-after-ms --worker-id --result-bytes-max --store --server --json --help' ;;
    *' fsck '*) options=' --store --server --json --help' ;;
    *' doctor '*) options=' --store --server --json --help' ;;
    *' bench '*) options=' --count --store --server --json --help' ;;
    *' gc '*) options=' --older-than-ms --store --server --json --help' ;;
    *' migrate '*) options=' --dry-run --restored --store --server --json --help' ;;
    *' version '*) options=' --store --server --json --help' ;;
    *' help '*) options=' --man --completion --store --server --json --help' ;;
    esac
    case $word in
    -*) words=$options ;;
    esac
    case $last in
    --state) words='waiting delayed waiting_children active completed failed cancelled expired skipped open running' ;;
    --kinds) words='completion lease execution operator flow worker log' ;;
    --scope) words='self failed_ancestors' ;;
    --log) words='text json' ;;
    --log-level) words='error warn info debug' ;;
    --event-renewals) words='sampled all none' ;;
    esac
    # What is none of these may be a file.
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _ff ff
