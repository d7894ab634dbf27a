"""What models answer when they call nothing: prose, markup, code, data, transcripts."""

from __future__ import annotations

from typing import Final

PROSE: Final[dict[str, str]] = {
    "prose": (
        "Sure! There are two ways to do this: call the bank first (which takes a day), or write to them. I'd do the "
        "former - it's < 10 minutes of work, and you keep a record of it.\n\nHere is my thought process: first the "
        "cheap options, then the rest. Here are my reasoning steps: ask, wait, decide."
    ),
    "a plan": "Here are my reasoning steps: ask, wait, decide.\n\n1. Ask the bank.\n2. Wait a day.\n3. Decide.",
    "a thought": "Here is my thought process: first the cheap options, then the rest.\n\n- a bus\n- a taxi",
    "a command": "/think\nis what you write to switch it on, and /no_think is what switches it off.",
    "markdown": (
        "## Steps\n\n1. Install it: `pip install acme`\n2. Run `acme --tools=all <file>`\n\n> **Note** [docs]"
        "(https://example.org/a_(b)) say *otherwise*.\n\n| a | b |\n|---|---|\n| `x|y` | [1] |\n\n- [ ] to do\n- [x] done\n"
    ),
    "html": (
        '<!DOCTYPE html>\n<html>\n<body class="main">\n  <div id="tool"><p>Hi &lt;you&gt;</p></div>\n'
        '  <form action="/f" method="post"><input name="a" value="1"><button>Go</button></form>\n'
        "  <script>const f = (a) => a < 3 && [a];</script>\n</body>\n</html>"
    ),
    "xml": (
        '<?xml version="1.0"?>\n<tools>\n  <tool name="saw"><arg name="teeth">24</arg></tool>\n'
        '  <function name="cut"><param name="depth">3</param></function>\n  <call id="7"/>\n</tools>\n'
        "<response><status>ok</status></response>\n<answer>42</answer>\n<function><name>f</name></function>"
    ),
    "python": (
        "```python\nimport functools\nfrom typing import Any\n\n@functools.lru_cache(maxsize=None)\n"
        "def call(name: str, **arguments: Any) -> list[int]:\n    cases = [f(a=1), g()]\n    return [x for x in cases if "
        'x < 3 or x["name"] >= 2]\n```\nIn the console:\n\n>>> all\nTrue\n>>> call {"a": 1}\n'
    ),
    "javascript": (
        "```js\nconst tools = [{ name: 'f', arguments: {} }];\nexport const App = () => <Tool name={tools[0].name}>\n"
        "  {tools.map((t) => <li key={t.name}>{`${t.name}()`}</li>)}\n</Tool>;\nif (a <b && c> d) { call({a: 1}); }\n```"
    ),
    "c++": (
        "```cpp\n#include <vector>\ntemplate <typename T> auto call(const std::function<int(T)>& f, std::vector<T> a) {\n"
        "    std::cout << a[0] << '\\n';  // << and >> and <tool>\n    return f(a[0]) <<= 1;\n}\n```"
    ),
    "json": (
        'Answer:\n{"name": "add", "arguments": {"a": 1, "b": 2}}\nor a list:\n[{"name": "add", "parameters": {"a": 1}}]\n'
        'or\n{"tool_calls": [{"function": {"name": "add", "arguments": "{}"}}]}\nor\n'
        '{"content": "Hi", "toolCall": null}'
    ),
    "fenced json": (
        'The body is\n\n```json\n{"name": "Ada", "arguments": {"x": [1, 2]}}\n```\n\nor\n\n'
        '```json\n[{"name": "Ada", "arguments": {}}]\n```'
    ),
    "react": (
        'Thought: I need the weather.\nAction: get_weather\nAction Input: {"city": "Paris"}\nObservation: 21 C\n\nAction:\n'
        '```json\n[{"tool_name": "get_weather", "parameters": {"city": "Paris"}}]\n```\nFinal Answer: warm'
    ),
    "latex": (
        r"Let $f\colon [0,1]\to\mathbb{R}$ with $|f(x)| < \varepsilon$; then \[ \sum_{i=1}^{n} f(x_i) \le "
        r"\left\{ \begin{array}{ll} 1 & x < 0 \\ 0 & x \geq 0 \end{array} \right. \] and [f(x)] is its trace."
    ),
    "diff": (
        "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n-x = [f(a=1)]\n+x = {'name': 'f'}\n \n"
        "a.py\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n"
    ),
    "shell": (
        '$ cat <<EOF > a.json\n{"name": "f"}\nEOF\n$ [ -f a.json ] && jq \'.name\' < a.json | tee >(wc -l)\n"f"\n'
        "$ ls [a-z]*.json; echo $((1 << 3)) ${A:-x} 2>&1\n1\n"
    ),
    "pythonic": "It prints a list:\n[get_weather(city='Paris'), get_time()]\nand [ping()] prints another.",
    "log": (
        "2026-01-02 03:04:05,678 [INFO] <worker-1> call=f args={a: 1}\n[TOOL] f(1) -> <object at 0x7f>\n"
        "Traceback (most recent call last):\n  File \"<stdin>\", line 1, in <module>\nKeyError: 'name'\n"
    ),
    "about markers": (
        "Models write `<|...|>` tokens, tags like <tool>, <tool-call> or <toolcall>, brackets like [TOOL] or "
        "[[SEG]], and words like to=you or functools.partial; a <tool_call is only half of one, and so is <|tool_call."
    ),
    "other scripts": "给你一个例子。<工具>「名称」{甲}。مثال: [أ]. Ö<ä> 🔧🔧 ｜工具｜ ▁",
}
