# SPDX-License-Identifier: GPL-2.0-or-later
"""Completion for bash, zsh and fish, from the parsers.

The scripts are static: nothing of cint runs while a person types. All three know the verbs, each
verb's options, the words that an option or argument takes, lists with commas, and where a file
goes.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence

from cint.device import properties, words
from cint.manual import commands
from cint.manual.commands import Argument, Command

_HEAD = "# Completion of cint; made by `cint completion {shell}`.\n"


def _words(found: Iterable[str]) -> str:
    return shlex.quote(" ".join(found))


def _flags(command: Command) -> list[Argument]:
    return [*command.options, *commands.common()]


def _kind(argument: Argument) -> str:
    """How a value is completed: a list, words, a file, or by nothing."""
    if argument.words:
        return "list" if argument.joined else "words"
    return "file" if argument.is_file else "none"


# ---- bash and zsh ----------------------------------------------------------
# Both have one function that looks the word before up: kind and words of what is to come.

def _lookup(found: Sequence[Command]) -> str:
    """The cases of what may follow: verb and option, or verb alone for what has no option."""
    lines = []
    for command in found:
        for one in _flags(command):
            if one.value and not one.may_miss:
                pattern = "|".join(f"{command.name}/{flag}" for flag in one.flags)
                lines.append(f"    {pattern}) kind={_kind(one)}; offered={_words(one.words)} ;;")
        place = next(iter(command.arguments), None)
        if place:
            lines.append(f"    {command.name}/) kind={_kind(place)}; "
                         f"offered={_words(place.words)} ;;")
    # Common options may stand before the verb.
    lines += [f"    {'|'.join(f'/{flag}' for flag in one.flags)}) kind={_kind(one)} ;;"
              for one in commands.common() if one.value]
    return "\n".join(lines)


def _options(found: Sequence[Command]) -> str:
    """The cases of a verb's options."""
    lines = [f"    {command.name}) options="
             f"{_words(flag for one in _flags(command) for flag in one.flags)} ;;"
             for command in found]
    before = _words(flag for one in commands.common() for flag in one.flags)
    return "\n".join([*lines, f"    *) options={before} ;;"])


_SHARED = """\
_cint_known() {{
  # What may follow, for the verb $1 and the option before, $2, or neither: kind, offered.
  kind=none offered=
  case "$1/$2" in
{lookup}
  esac
}}
_cint_options() {{
  case "$1" in
{options}
  esac
}}
_cint_more() {{
  # What may follow in a list: the words that are not in it yet, and parameters of the policy that
  # it ends with. The option before is $1, what is typed of its value $2; changes offered, list.
  [ -z "$ZSH_VERSION" ] || setopt local_options sh_word_split
  local item=${{2##*,}} last= piece= rest="$2," word= kept= parameters=
  list=${{2%"$item"}}
  while [ -n "$rest" ]; do
    piece=${{rest%%,*}} rest=${{rest#*,}}
    case $piece in
      *:*) last=${{piece%%:*}} ;;
      *=*) ;;
      *) [ -z "$rest" ] || last= ;;
    esac
  done
  _cint_parameters "$last"
  case $item in
    *:*) list=$list$last: offered=$parameters; return ;;
  esac
  for word in $offered; do
    case ",$list" in *",$word,"*) ;; *) kept="$kept $word" ;; esac
  done
  offered="$kept $parameters"
}}
_cint_parameters() {{
  # What a policy of the name $1 takes behind its colon.
  parameters=
  case "$1" in
{parameters}
  esac
}}
"""

_BASH = """\
_cint() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  local verb= kind= offered= options= word skip= list= broken= IFS=$' \\t\\n'
  local -a typed=("${{COMP_WORDS[@]:1:COMP_CWORD-1}}")
  COMPREPLY=()
  if [ -n "$COMP_LINE" ]; then
    # bash breaks words at = and : as well, where a policy and its parameters are one.
    read -ra typed <<<"${{COMP_LINE:0:COMP_POINT}}"
    case ${{COMP_LINE:0:COMP_POINT}} in *' ') typed+=("") ;; esac
    cur=${{typed[-1]}}; before=${{typed[-2]}}
    typed=("${{typed[@]:1:${{#typed[@]}}-2}}")
    broken=${{cur%"${{cur##*[:=]}}"}}
    case $cur in --*=*) before=${{cur%%=*}}; cur=${{cur#*=}}; broken=${{broken#"$before="}} ;; esac
  fi
  for word in "${{typed[@]}}"; do
    if [ -n "$skip" ]; then skip=; continue; fi
    case $word in
      --) return ;;
      -*) [[ " {valued} " == *" $word "* ]] && skip=1 ;;
      *) [ -n "$verb" ] || verb=$word ;;
    esac
  done
  case $before in -*) _cint_known "$verb" "$before" ;; *) kind=none ;; esac
  if [ "$kind" = none ]; then
    if [[ $cur == -* ]]; then
      _cint_options "$verb"
      COMPREPLY=($(compgen -W "$options" -- "$cur"))
      return
    fi
    if [ -z "$verb" ]; then
      COMPREPLY=($(compgen -W {verbs} -- "$cur"))
      return
    fi
    _cint_known "$verb" ""
  fi
  case $kind in
    words) COMPREPLY=($(compgen -W "$offered" -- "$cur")) ;;
    list) _cint_more "$before" "$cur"
          COMPREPLY=($(compgen -P "$list" -W "$offered" -- "${{cur#"$list"}}"))
          compopt -o nospace 2>/dev/null ;;
    file) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")) ;;
  esac
  # bash replaces what is behind the last of its own breaks in a word.
  [ -z "$broken" ] || COMPREPLY=("${{COMPREPLY[@]#"$broken"}}")
}}
complete -F _cint cint
"""

_ZSH = """\
_cint() {{
  local cur=${{words[CURRENT]}} before=${{words[CURRENT-1]}}
  local verb= kind= offered= options= word skip= list=
  local -a typed; typed=("${{(@)words[2,CURRENT-1]}}")
  for word in $typed; do
    if [[ -n $skip ]]; then skip=; continue; fi
    case $word in
      --) return ;;
      -*) [[ " {valued} " == *" $word "* ]] && skip=1 ;;
      *) [[ -n $verb ]] || verb=$word ;;
    esac
  done
  if [[ $before == -* ]]; then _cint_known "$verb" "$before"; else kind=none; fi
  if [[ $kind == none ]]; then
    if [[ $cur == -* ]]; then
      _cint_options "$verb"
      compadd -- ${{=options}}
      return
    fi
    if [[ -z $verb ]]; then
      local -a verbs; verbs=({described})
      _describe command verbs
      return
    fi
    _cint_known "$verb" ""
  fi
  case $kind in
    words) compadd -- ${{=offered}} ;;
    list) _cint_more "$before" "$cur"
          compadd -S '' -p "$list" -- ${{=offered}} ;;
    file) _files ;;
  esac
}}
if [ "$funcstack[1]" = "_cint" ]; then _cint "$@"; else compdef _cint cint; fi
"""


def _parameters() -> str:
    """The cases of what a policy takes; a name with parameters takes what its kind does."""
    lines = []
    for name in (*words.PARAMETERS, *properties.DEFAULT_POLICIES.split(",")):
        kind = properties.parse_policy(name).kind if name != "stock" else name
        takes = " ".join(f"{word}=" for word in words.PARAMETERS[kind])
        lines.append(f"    {name}) parameters={shlex.quote(takes)} ;;")
    return "\n".join(dict.fromkeys(lines))


def _valued() -> str:
    """Common options that take a value: the word after them is no verb."""
    return " ".join(flag for one in commands.common() if one.value for flag in one.flags)


def bash(found: Sequence[Command]) -> str:
    """The script for bash 4 and newer."""
    shared = _SHARED.format(lookup=_lookup(found), options=_options(found),
                            parameters=_parameters())
    return (_HEAD.format(shell="bash") + shared
            + _BASH.format(verbs=_words(c.name for c in found), valued=_valued()))


def zsh(found: Sequence[Command]) -> str:
    """The script for zsh, a file _cint in a directory of $fpath."""
    shared = _SHARED.format(lookup=_lookup(found), options=_options(found),
                            parameters=_parameters())
    described = " ".join(shlex.quote(f"{c.name}:{c.summary}") for c in found)
    return ("#compdef cint\n" + _HEAD.format(shell="zsh") + shared
            + _ZSH.format(described=described, valued=_valued()))


# ---- fish --------------------------------------------------------------------

def _fish_value(one: Argument) -> str:
    """The words of a value, or what else goes there."""
    kind = _kind(one)
    if kind == "words":
        return f" -xa {_words(one.words)}"
    if kind == "list":
        return f" -xa {shlex.quote('(__fish_append , ' + ' '.join(one.words) + ')')}"
    if not one.value or one.may_miss:
        return ""
    return " -rF" if kind == "file" else " -x"


def _fish_option(condition: str, one: Argument) -> str:
    flags = "".join(f" -l {flag[2:]}" if flag.startswith("--") else f" -s {flag[1:]}"
                    for flag in one.flags)
    first = one.help.split(";")[0].split(". ")[0]
    return f"complete -c cint{condition}{flags}{_fish_value(one)} -d {shlex.quote(first)}"


_FISH = """\
function __cint_verb
  # The verb that is typed already, after any common options.
  set -l skip
  for word in (commandline -opc)[2..]
    if test -n "$skip"; set skip; continue; end
    switch $word
      case {valued}
        set skip 1
      case '-*'
      case '*'
        echo $word
        return
    end
  end
end
function __cint_is
  set -l verb (__cint_verb)
  test "$verb" = "$argv[1]"
end
complete -c cint -f
"""


def fish(found: Sequence[Command]) -> str:
    """The script for fish 3 and newer."""
    lines = [_HEAD.format(shell="fish") + _FISH.format(valued=_valued()).rstrip()]
    lines += [f"complete -c cint -n '__cint_is \"\"' -a {c.name} -d {shlex.quote(c.summary)}"
              for c in found]
    lines += [_fish_option("", one) for one in commands.common()]
    for command in found:
        condition = f" -n '__cint_is {command.name}'"
        lines += [_fish_option(condition, one) for one in command.options]
        for place in command.arguments[:1]:
            value = _fish_value(place).replace("-rF", "-F").replace(" -x ", " ").replace("-xa",
                                                                                        "-a")
            if value.strip() not in ("", "-x"):
                lines.append(f"complete -c cint{condition}{value}")
    return "\n".join(lines) + "\n"


SHELLS: dict[str, Callable[[Sequence[Command]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
